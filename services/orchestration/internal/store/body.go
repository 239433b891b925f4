package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
)

// idSize is the size of an id in the body of an effect, in bytes.
const idSize = len(uuid.UUID{})

// ResourceEffect returns an effect on one resource of a workspace, caused now. Its body is the two ids.
func (s *Store) ResourceEffect(kind string, ws, id uuid.UUID) Effect {
	return Effect{ID: s.NewID(), At: s.Now(), Kind: kind, Body: append(ws[:], id[:]...)}
}

// EachResource calls do with the resources of effects made by ResourceEffect, in order, until it returns an error.
func EachResource(effects []Effect, do func(ws, id uuid.UUID) error) error {
	for _, e := range effects {
		ws, id, err := e.Subject()
		if err != nil {
			return err
		}
		if err := do(ws, id); err != nil {
			return err
		}
	}
	return nil
}

// EachWorkspace calls do with the resources of effects made by ResourceEffect, grouped by their workspaces, until it returns an
// error.
func EachWorkspace(effects []Effect, do func(ws uuid.UUID, ids []uuid.UUID) error) error {
	var workspaces []uuid.UUID // In the order of appearance.
	ids := map[uuid.UUID][]uuid.UUID{}
	err := EachResource(effects, func(ws, id uuid.UUID) error {
		if ids[ws] == nil {
			workspaces = append(workspaces, ws)
		}
		ids[ws] = append(ids[ws], id)
		return nil
	})
	for _, ws := range workspaces {
		if err == nil {
			err = do(ws, ids[ws])
		}
	}
	return err
}

// Subject returns the workspace and the resource of an effect made by ResourceEffect.
func (e Effect) Subject() (ws, id uuid.UUID, err error) {
	if len(e.Body) != 2*idSize {
		return uuid.Nil, uuid.Nil, Permanent(fmt.Errorf("decode effect %q: body has %d bytes, want %d", e.Kind, len(e.Body), 2*idSize))
	}
	return uuid.UUID(e.Body[:idSize]), uuid.UUID(e.Body[idSize:]), nil
}

// revisionSize is the encoded size of a Revision without its token.
const revisionSize = idSize + 8

// AboutRevisions returns an effect on versions of documents of a workspace, caused now. It is without their tokens, so that replicas
// of earlier versions of the program can execute it. The caller read those versions from a majority, so no rollback returns their
// numbers, and their ids are never used again.
func (s *Store) AboutRevisions(kind string, ws uuid.UUID, all []Revision) Effect {
	body := append(make([]byte, 0, idSize+len(all)*revisionSize), ws[:]...)
	for _, one := range all {
		body = binary.BigEndian.AppendUint64(append(body, one.ID[:]...), uint64(one.Revision))
	}
	return Effect{ID: s.NewID(), At: s.Now(), Kind: kind, Body: body}
}

// Revisions returns the workspace and the versions, without tokens, of an effect made by ResourceEffectRevisions.
func (e Effect) Revisions() (ws uuid.UUID, all []Revision, err error) {
	if len(e.Body) < idSize || (len(e.Body)-idSize)%revisionSize != 0 {
		return uuid.Nil, nil, Permanent(fmt.Errorf("decode effect %q: body has %d bytes, want a workspace and revisions", e.Kind, len(e.Body)))
	}
	for one := range slices.Chunk(e.Body[idSize:], revisionSize) {
		all = append(all, Revision{ID: uuid.UUID(one[:idSize]), Revision: int64(binary.BigEndian.Uint64(one[idSize:]))})
	}
	return uuid.UUID(e.Body[:idSize]), all, nil
}

// MessageEffect returns an effect with a message of a workspace, such as a document to insert elsewhere.
func MessageEffect(kind string, id uuid.UUID, at time.Time, ws uuid.UUID, m proto.Message) (Effect, error) {
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), m)
	if err != nil {
		return Effect{}, fmt.Errorf("encode effect %q: %w", kind, err)
	}
	return Effect{ID: id, At: at, Kind: kind, Body: body}, nil
}

// DecodeMessage decodes the message of an effect made by MessageEffect into m, which must be empty, and returns its workspace.
func (e Effect) DecodeMessage(m proto.Message) (ws uuid.UUID, err error) {
	if len(e.Body) < idSize {
		return uuid.Nil, Permanent(fmt.Errorf("decode effect %q: body has %d bytes, want at least %d", e.Kind, len(e.Body), idSize))
	}
	if err := proto.Unmarshal(e.Body[idSize:], m); err != nil {
		return uuid.Nil, Permanent(fmt.Errorf("decode effect %q: %w", e.Kind, err))
	}
	return uuid.UUID(e.Body[:idSize]), nil
}

// InsertMessages inserts the documents of effects made by MessageEffect unless they exist. expires returns when a document may
// be removed, or the zero time to keep it; nil keeps all.
func InsertMessages[M proto.Message](ctx context.Context, c *Collection[M], effects []Effect, expires func(M) time.Time) error {
	docs := make([]bson.Raw, 0, len(effects))
	for _, e := range effects {
		m := NewMessage(c)
		ws, err := e.DecodeMessage(m)
		if err != nil {
			return err
		}
		var expire time.Time
		if expires != nil {
			expire = expires(m)
		}
		doc, err := NewDocument(ws, m, expire)
		if err != nil {
			return Permanent(err)
		}
		docs = append(docs, doc)
	}
	return c.InsertNew(ctx, docs)
}

// Message is the message of an effect in an outbox.
type Message[M proto.Message] struct {
	Effect  Effect
	Message M
}

// PendingMessages decodes the messages of pending effects of a kind and a workspace, in order: those that the relay has not
// yet written to the collection.
func PendingMessages[M proto.Message](c *Collection[M], pending []Effect, kind string, ws uuid.UUID) ([]Message[M], error) {
	var carried []Message[M]
	for _, e := range pending {
		if e.Kind != kind {
			continue
		}
		m := NewMessage(c)
		owner, err := e.DecodeMessage(m)
		if err != nil {
			return nil, err
		}
		if owner == ws {
			carried = append(carried, Message[M]{e, m})
		}
	}
	return carried, nil
}
