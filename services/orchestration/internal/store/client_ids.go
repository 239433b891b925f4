package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ClientDocument is the stored form of a document whose id its workspace chose.
type ClientDocument struct {
	Workspace, ID uuid.UUID
	Doc           bson.Raw
}

// InsertMissing inserts the documents whose workspaces and ids do not exist; it leaves existing documents unchanged and counts them. taken are
// the positions of documents with a unique key of another document, and refused the documents that the database refuses.
func InsertMissing[M proto.Message](ctx context.Context, c *Collection[M], all []ClientDocument) (existing int, taken []int, refused []Refusal, err error) {
	docs, positions, err := c.withoutShared(ctx, all)
	if err != nil || len(docs) == 0 {
		return len(all) - len(docs), nil, nil, err
	}
	raws := make([]bson.Raw, 0, len(docs))
	for i := range docs {
		raws = append(raws, docs[i].Doc)
	}
	conflicts, refused, err := c.insertMany(ctx, raws)
	if err != nil {
		return 0, nil, nil, err
	}
	for i := range refused {
		refused[i].Position = positions[refused[i].Position]
	}
	existing = len(all) - len(docs)
	if len(conflicts) == 0 {
		return existing, nil, refused, nil
	}
	owners, err := c.owned(ctx, docs, conflicts)
	if err != nil {
		return 0, nil, nil, err
	}
	for _, i := range conflicts {
		if owners[docs[i].ID] == docs[i].Workspace {
			existing++
		} else {
			taken = append(taken, positions[i])
		}
	}
	return existing, taken, refused, nil
}

// InsertClientIDs is InsertMissing for a collection of ClientIDs: a document whose id another workspace has gets a collision key.
func InsertClientIDs[M proto.Message](ctx context.Context, c *Collection[M], all []ClientDocument) ([]Refusal, error) {
	_, taken, refused, err := InsertMissing(ctx, c, all)
	if err != nil || len(taken) == 0 {
		return refused, err
	}
	var raws []bson.Raw
	var shared []int
	for _, i := range taken {
		doc, err := all[i].withCollisionKey()
		if err != nil {
			refused = append(refused, Refusal{Position: i, Err: Permanent(err)})
			continue
		}
		raws, shared = append(raws, doc), append(shared, i)
	}
	if len(raws) == 0 {
		return refused, nil
	}
	_, again, err := c.insertMany(ctx, raws)
	for _, r := range again {
		refused = append(refused, Refusal{Position: shared[r.Position], Err: r.Err})
	}
	return refused, err
}

// withoutShared removes the documents that already exist under shared keys: their ids may be free by now. Usually the
// whole collection has none, and only a collection of ClientIDs can have some. It also returns the positions of the others.
func (c *Collection[M]) withoutShared(ctx context.Context, docs []ClientDocument) ([]ClientDocument, []int, error) {
	all := make([]int, len(docs))
	for i := range all {
		all[i] = i
	}
	if !c.shared {
		return docs, all, nil
	}
	some, err := c.keys(ctx, query.BelowIDs(), nil, 1)
	if err != nil || len(some) == 0 {
		return docs, all, err
	}
	wanted := make(bson.A, len(docs))
	for i, d := range docs {
		wanted[i] = query.CollisionKey(d.Workspace, d.ID)
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: wanted}}}}, nil, 0)
	if err != nil || len(found) == 0 {
		return docs, all, err
	}
	existing := map[string]bool{}
	for _, doc := range found {
		_, key, _ := doc.Lookup("_id").BinaryOK()
		existing[string(key)] = true
	}
	var missing []ClientDocument
	positions := all[:0]
	for i, d := range docs {
		if !existing[string(wanted[i].(bson.Binary).Data)] {
			missing, positions = append(missing, d), append(positions, i)
		}
	}
	return missing, positions, nil
}

// owned returns the workspaces of the stored documents with the ids of the documents at these positions.
func (c *Collection[M]) owned(ctx context.Context, docs []ClientDocument, at []int) (map[uuid.UUID]uuid.UUID, error) {
	wanted := make(bson.A, len(at))
	for n, i := range at {
		wanted[n] = Binary(docs[i].ID)
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: wanted}}}}, nil, 0)
	if err != nil {
		return nil, err
	}
	own := make(map[uuid.UUID]uuid.UUID, len(found))
	for _, doc := range found {
		id, err := UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		if own[id], err = UUID(doc.Lookup("ws")); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// keys reads the ids and workspaces, and perhaps other fields, of documents of all workspaces. A nil sort means no order.
func (c *Collection[M]) keys(ctx context.Context, filter, sort bson.D, limit int64, fields ...string) ([]bson.Raw, error) {
	projection := bson.D{{Key: "_id", Value: 1}, {Key: "ws", Value: 1}}
	for _, field := range fields {
		projection = append(projection, bson.E{Key: field, Value: 1})
	}
	opts := options.Find().SetProjection(projection).SetLimit(limit)
	if sort != nil {
		opts.SetSort(sort)
	}
	cursor, err := query.Find(ctx, c.mongo, filter, opts)
	if err != nil {
		return nil, fmt.Errorf("find ids of %ss: %w", c.Name(), outage(err))
	}
	var found []bson.Raw
	if err := cursor.All(ctx, &found); err != nil {
		return nil, fmt.Errorf("find ids of %ss: %w", c.Name(), outage(err))
	}
	return found, nil
}

// withCollisionKey returns the document under its collision key.
func (d ClientDocument) withCollisionKey() (bson.Raw, error) {
	key := query.CollisionKey(d.Workspace, d.ID)
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, len(d.Doc)+64))
	doc = bsoncore.AppendBinaryElement(doc, "_id", key.Subtype, key.Data)
	doc, err := appendRenamed(doc, d.Doc, "_id", "id")
	if err != nil {
		return nil, err
	}
	return end(bsoncore.AppendBooleanElement(doc, "shared_id", true), start), nil
}

// plain returns a stored document under its id.
func plain(raw bson.Raw) (bson.Raw, error) {
	if !query.IsSharedKey(raw.Lookup("_id")) {
		return raw, nil
	}
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, len(raw)))
	doc, err := appendRenamed(doc, raw, "id", "_id")
	if err != nil {
		return nil, err
	}
	return end(doc, start), nil
}

// appendRenamed appends the elements of a document, renames one element, and omits elements that have the new name.
func appendRenamed(doc []byte, nested bson.Raw, from, to string) ([]byte, error) {
	elements, err := nested.Elements()
	if err != nil {
		return nil, fmt.Errorf("decode document: %w", err)
	}
	for _, e := range elements {
		switch e.Key() {
		case to:
		case from:
			value := e.Value()
			doc = append(bsoncore.AppendHeader(doc, bsoncore.Type(value.Type), to), value.Value...)
		default:
			doc = append(doc, e...)
		}
	}
	return doc, nil
}
