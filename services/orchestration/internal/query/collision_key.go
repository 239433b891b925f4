package query

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// sharedLength is the length of a shared key in bytes. It is shorter than an id, so a client cannot take the key of
// another document by choosing an id. Shared keys sort below all ids and leave their ascending order intact.
const sharedLength = 15

// CollisionKey is the _id of a document whose client-chosen id already exists in another workspace.
func CollisionKey(ws, id uuid.UUID) bson.Binary {
	sum := sha256.Sum256(append(ws[:], id[:]...))
	return bson.Binary{Subtype: bson.TypeBinaryGeneric, Data: sum[:sharedLength]}
}

// BelowIDs matches the documents that are stored under shared keys.
func BelowIDs() bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: bson.Binary{Subtype: bson.TypeBinaryGeneric, Data: make([]byte, sharedLength+1)}}}}}
}

// IsSharedKey reports whether a document's _id is a shared key.
func IsSharedKey(id bson.RawValue) bool {
	_, data, ok := id.BinaryOK()
	return ok && len(data) == sharedLength
}
