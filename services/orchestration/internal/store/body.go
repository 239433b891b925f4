package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
)

// idSize is the size of an id in the body of an effect, in bytes.
const idSize = len(uuid.UUID{})

// About is an effect that speaks of one thing of a workspace, by its id. It is caused now.
func (s *Store) About(kind string, ws, id uuid.UUID) Effect {
	return Effect{ID: s.NewID(), At: s.Now(), Kind: kind, Body: append(ws[:], id[:]...)}
}

// EachSubject calls do with what effects made by About speak of, in order, until it returns an error.
func EachSubject(effects []Effect, do func(ws, id uuid.UUID) error) error {
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

// Subject is what an effect made by About speaks of.
func (e Effect) Subject() (ws, id uuid.UUID, err error) {
	if len(e.Body) != 2*idSize {
		return uuid.Nil, uuid.Nil, Permanent(fmt.Errorf("decode effect %q: body has %d bytes, want %d", e.Kind, len(e.Body), 2*idSize))
	}
	return uuid.UUID(e.Body[:idSize]), uuid.UUID(e.Body[idSize:]), nil
}

// Carry is an effect that carries a message of a workspace, such as a document to be written elsewhere.
func Carry(kind string, id uuid.UUID, at time.Time, ws uuid.UUID, m proto.Message) (Effect, error) {
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), m)
	if err != nil {
		return Effect{}, fmt.Errorf("write the effect %q: %w", kind, err)
	}
	return Effect{ID: id, At: at, Kind: kind, Body: body}, nil
}

// Carried reads what an effect made by Carry carries into m, which is empty, and answers whose it is.
func (e Effect) Carried(m proto.Message) (ws uuid.UUID, err error) {
	if len(e.Body) < idSize {
		return uuid.Nil, Permanent(fmt.Errorf("decode effect %q: body has %d bytes, want at least %d", e.Kind, len(e.Body), idSize))
	}
	if err := proto.Unmarshal(e.Body[idSize:], m); err != nil {
		return uuid.Nil, Permanent(fmt.Errorf("decode effect %q: %w", e.Kind, err))
	}
	return uuid.UUID(e.Body[:idSize]), nil
}

// InsertCarried writes the documents that effects made by Carry carry, where they are not there yet. expires says when
// one may be removed, the zero time that it stays; nil: all stay.
func (c *Collection[M]) InsertCarried(ctx context.Context, effects []Effect, expires func(M) time.Time) error {
	docs := make([]bson.Raw, 0, len(effects))
	for _, e := range effects {
		m := c.New()
		ws, err := e.Carried(m)
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

// Carried is a message that an effect in an outbox carries.
type Carried[M proto.Message] struct {
	Effect  Effect
	Message M
}

// CarriedBy reads the messages of a kind that pending effects carry for a workspace, in order: what the relay has not
// written to the collection yet. Those of other workspaces are left out.
func (c *Collection[M]) CarriedBy(pending []Effect, kind string, ws uuid.UUID) ([]Carried[M], error) {
	var carried []Carried[M]
	for _, e := range pending {
		if e.Kind != kind {
			continue
		}
		m := c.New()
		of, err := e.Carried(m)
		if err != nil {
			return nil, err
		}
		if of == ws {
			carried = append(carried, Carried[M]{e, m})
		}
	}
	return carried, nil
}
