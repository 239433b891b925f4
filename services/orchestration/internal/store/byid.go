package store

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// rawByID reads a stored document by its id. A projection of nil returns all fields.
func (c *Collection[M]) rawByID(ctx context.Context, from *mongo.Collection, ws, id uuid.UUID, projection bson.Raw) (bson.Raw, error) {
	d := c.store.direct
	if d == nil {
		opts := options.FindOne()
		if projection != nil {
			opts.SetProjection(projection)
		}
		return c.firstRaw(ctx, from, ws, bson.D{{Key: "_id", Value: Binary(id)}}, opts)
	}
	raw, err := d.findOne(ctx, c.mongo.Database().Name(), c.mongo.Name(), ofWorkspace(ws, id), projection, from != c.local)
	return c.found(raw, err)
}

// ofWorkspace is the filter of a document of a workspace.
func ofWorkspace(ws, id uuid.UUID) bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, 64))
	doc = bsoncore.AppendBinaryElement(doc, "ws", bson.TypeBinaryUUID, ws[:])
	doc = bsoncore.AppendBinaryElement(doc, "_id", bson.TypeBinaryUUID, id[:])
	return end(doc, start)
}

// byID reads a document and its revision by its id.
func (c *Collection[M]) byID(ctx context.Context, from *mongo.Collection, ws, id uuid.UUID) (M, Revision, error) {
	var none M
	raw, err := c.rawByID(ctx, from, ws, id, withoutOutbox)
	if err != nil {
		return none, Revision{}, err
	}
	m, err := c.Decode(raw)
	if err != nil {
		return none, Revision{}, err
	}
	return m, revisionOf(id, raw), nil
}
