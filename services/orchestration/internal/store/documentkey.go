package store

import (
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// DocumentKey identifies a document of a collection. It includes the workspace, the shard key of a sharded cluster.
type DocumentKey struct {
	// Workspace is the workspace of the document. For a deleted one it is either the workspace that the document left or its
	// own id. uuid.Nil means unknown: then every shard is asked.
	Workspace, ID uuid.UUID
}

// filter matches the document, whether it was deleted meanwhile or not: deleting moves a document into the workspace of its
// own id.
func (k DocumentKey) filter() bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, 96))
	doc = bsoncore.AppendBinaryElement(doc, "_id", bson.TypeBinaryUUID, k.ID[:])
	switch k.Workspace {
	case uuid.Nil:
	case k.ID:
		doc = bsoncore.AppendBinaryElement(doc, "ws", bson.TypeBinaryUUID, k.ID[:])
	default:
		var condition, in int32
		condition, doc = bsoncore.AppendDocumentElementStart(doc, "ws")
		in, doc = bsoncore.AppendArrayElementStart(doc, "$in")
		doc = bsoncore.AppendBinaryElement(doc, "0", bson.TypeBinaryUUID, k.Workspace[:])
		doc = bsoncore.AppendBinaryElement(doc, "1", bson.TypeBinaryUUID, k.ID[:])
		doc = end(end(doc, in), condition)
	}
	return end(doc, start)
}

// anyOf matches the documents with these keys. It may match a document of another workspace with one of the ids.
func anyOf(keys []DocumentKey) any {
	if len(keys) == 1 {
		return keys[0].filter()
	}
	ids := make(bson.A, len(keys))
	workspaces := make([]uuid.UUID, 0, 2*len(keys))
	for i, k := range keys {
		ids[i] = Binary(k.ID)
		workspaces = append(workspaces, k.Workspace, k.ID)
	}
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}
	if slices.ContainsFunc(keys, func(k DocumentKey) bool { return k.Workspace == uuid.Nil }) {
		return filter
	}
	slices.SortFunc(workspaces, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return append(filter, bson.E{Key: "ws", Value: OneOf(slices.Compact(workspaces))})
}
