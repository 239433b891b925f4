package query

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// workspaceKey is the name of the workspace in the envelope that every stored document has around its message.
const workspaceKey = "ws"

// uuidSubtype is how BSON marks 16 bytes as a UUID.
const uuidSubtype = 4

// Scope confines a filter to the documents of one workspace. Every query passes through it. It needs to say nothing of
// deleted documents: deleting moves a document out of its workspace, so that counts stay covered by their indexes.
func Scope(ws uuid.UUID, filter bson.D) bson.D {
	return append(bson.D{
		{Key: workspaceKey, Value: bson.Binary{Subtype: uuidSubtype, Data: ws[:]}},
	}, filter...)
}
