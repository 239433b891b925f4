package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
)

// Version is a document, and the revision and the token at which it was read.
type Version[M proto.Message] struct {
	Message  M
	Revision int64
	Token    int64
}

func (v Version[M]) revision() Revision {
	return Revision{ID: documentID(v.Message), Revision: v.Revision, Token: v.Token}
}

// Replacement is the new content of a document that was read. Next must not share memory with the old message. The zero Version
// means that the document is new.
type Replacement[M proto.Message] struct {
	Read Version[M]
	Next M
}

// next is the version that replaces the one that was read.
func (r Replacement[M]) next() Version[M] {
	to := Revision{Revision: r.Read.Revision}.next()
	return Version[M]{Message: r.Next, Revision: to.Revision, Token: to.Token}
}

// FindVersions reads the matching documents, in no order, each with its revision.
func FindVersions[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D) ([]Version[M], error) {
	return c.versions(ctx, ws, Query{Filter: filter})
}

func (c *Collection[M]) versions(ctx context.Context, ws uuid.UUID, q Query) (found []Version[M], err error) {
	err = c.read(ctx, ws, q, func(raw bson.Raw) (bool, error) {
		m, err := c.Decode(raw)
		r := revisionOf(uuid.Nil, raw)
		found = append(found, Version[M]{Message: m, Revision: r.Revision, Token: r.Token})
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read %ss: %w", c.Name(), err)
	}
	return found, nil
}

// InsertAll inserts documents without effects in one command, and sets their times. It skips documents whose unique
// keys exist, and returns their positions.
func InsertAll[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, all []M) (taken []int, err error) {
	fresh := make([]Version[M], len(all))
	for i, m := range all {
		fresh[i] = Replacement[M]{Next: m}.next()
	}
	return c.insertVersions(ctx, ws, fresh)
}

// InsertApart is InsertAll for documents that do not depend on each other: it stores the others when some cannot be encoded or the database
// refuses them, and returns these.
func InsertApart[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, all []M) (taken []int, refused []Refusal, err error) {
	docs, positions := make([]bson.Raw, 0, len(all)), make([]int, 0, len(all))
	for i, m := range all {
		doc, err := c.encoded(ws, Replacement[M]{Next: m}.next())
		if err != nil {
			refused = append(refused, Refusal{Position: i, Err: err})
			continue
		}
		docs, positions = append(docs, doc), append(positions, i)
	}
	met, bad, err := c.insertMany(ctx, docs)
	for _, i := range met {
		taken = append(taken, positions[i])
	}
	for _, one := range bad {
		refused = append(refused, Refusal{Position: positions[one.Position], Err: one.Err})
	}
	return taken, refused, err
}

func (c *Collection[M]) insertVersions(ctx context.Context, ws uuid.UUID, all []Version[M]) (taken []int, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	docs := make([]bson.Raw, len(all))
	for i, v := range all {
		if docs[i], err = c.encoded(ws, v); err != nil {
			return nil, err
		}
	}
	return c.insertAll(ctx, docs)
}

// encoded sets the times of a new document and encodes it.
func (c *Collection[M]) encoded(ws uuid.UUID, v Version[M]) (bson.Raw, error) {
	stamp(v.Message, c.store.Now(), true)
	doc, err := envelope(ws, v.revision(), nil, v.Message, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("insert %s: %w", c.Name(), err)
	}
	return doc, nil
}

// ReplaceAll inserts the new documents, then changes the others by compare-and-set, with at most one command for each. They have no
// effects. It returns the versions that are stored afterwards, in the order of all, and whether all were written. If not, another
// writer won or a unique key exists, and the caller reads and decides again.
func ReplaceAll[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, all []Replacement[M]) (stored []Version[M], complete bool, err error) {
	var fresh []Version[M]
	var models []mongo.WriteModel
	stored = make([]Version[M], len(all))
	for i, r := range all {
		stored[i] = r.next()
		if r.Read.Revision == 0 {
			fresh = append(fresh, stored[i])
			continue
		}
		if err := c.prepareChange(ctx, ws, r.Read.Message, r.Next); err != nil {
			return nil, false, fmt.Errorf("change %ss: %w", c.Name(), err)
		}
		model, err := c.versioned(ws, r.Read, stored[i].revision(), &Change[M]{Message: r.Next})
		if err != nil {
			return nil, false, err
		}
		models = append(models, model)
	}
	taken, err := c.insertVersions(ctx, ws, fresh)
	if err != nil {
		return nil, false, err
	}
	complete = true
	if len(models) > 0 {
		complete, err = c.updateAll(ctx, models)
	}
	return stored, complete && len(taken) == 0, err
}

// versioned is the update of a document that still has the revision at which it was read.
func (c *Collection[M]) versioned(ws uuid.UUID, read Version[M], next Revision, change *Change[M]) (*mongo.UpdateOneModel, error) {
	update, err := c.update(read.Message, change, next)
	if err != nil {
		return nil, fmt.Errorf("change %s: %w", c.Name(), err)
	}
	return mongo.NewUpdateOneModel().SetUpdate(update).SetFilter(read.revision().filter(ws)), nil
}

// updateAll executes updates in one command, and reports whether each of them found its document and no taken key.
func (c *Collection[M]) updateAll(ctx context.Context, models []mongo.WriteModel) (complete bool, err error) {
	result, err := c.mongo.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	taken, refused, err := splitWriteErrors(err)
	if err == nil && len(refused) > 0 {
		err = refused[0].Err
	}
	if err != nil {
		return false, fmt.Errorf("change %d %ss: %w", len(models), c.Name(), outage(err))
	}
	return len(taken) == 0 && result.MatchedCount == int64(len(models)), nil
}

// Occupied reports whether an id belongs to a document outside of the workspace: a deleted one that is not yet removed,
// or one of another workspace.
func Occupied[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, id string) (bool, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return false, fmt.Errorf("read id of %s: %w", c.Name(), err)
	}
	n, err := c.mongo.CountDocuments(ctx, bson.D{
		{Key: "_id", Value: Binary(parsed)}, {Key: "ws", Value: bson.D{{Key: "$ne", Value: Binary(ws)}}},
	})
	if err != nil {
		return false, fmt.Errorf("find %s: %w", c.Name(), outage(err))
	}
	return n > 0, nil
}
