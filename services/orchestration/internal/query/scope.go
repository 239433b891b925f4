package query

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// workspaceKey is the field of the workspace in the envelope around every stored message.
const workspaceKey = "ws"

// uuidSubtype is the BSON binary subtype of a UUID.
const uuidSubtype = 4

// Scope restricts a filter to the documents of one workspace. Every query uses it. It needs no criterion for deleted
// documents: deleting moves a document out of its workspace, so indexes still cover counts.
func Scope(ws uuid.UUID, filter bson.D) bson.D {
	return append(bson.D{
		{Key: workspaceKey, Value: bson.Binary{Subtype: uuidSubtype, Data: ws[:]}},
	}, filter...)
}
