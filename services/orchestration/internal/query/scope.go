package query

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Names of the envelope that every stored document has around its message.
const (
	workspaceKey = "ws"
	deletedKey   = "deleted_at"
)

// uuidSubtype is how BSON marks 16 bytes as a UUID.
const uuidSubtype = 4

// Scope confines a filter to the documents of one workspace that are not being deleted. Every query passes through it.
func Scope(ws uuid.UUID, filter bson.D) bson.D {
	return append(bson.D{
		{Key: workspaceKey, Value: bson.Binary{Subtype: uuidSubtype, Data: ws[:]}},
		{Key: deletedKey, Value: bson.D{{Key: "$exists", Value: false}}},
	}, filter...)
}
