package query

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// sharedLength is that of a shared key in bytes. It is shorter than an id: so a client cannot take the key of another
// document by choosing an id. The keys sort below all ids and do not disturb their ascending order.
const sharedLength = 15

// SharedKey is what a document is stored under whose sender chose an id that a document of another workspace has.
func SharedKey(ws, id uuid.UUID) bson.Binary {
	sum := sha256.Sum256(append(ws[:], id[:]...))
	return bson.Binary{Subtype: bson.TypeBinaryGeneric, Data: sum[:sharedLength]}
}

// BelowIDs matches the documents that are stored under shared keys.
func BelowIDs() bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: bson.Binary{Subtype: bson.TypeBinaryGeneric, Data: make([]byte, sharedLength+1)}}}}}
}

// IsSharedKey tells whether a document's _id is a shared key.
func IsSharedKey(id bson.RawValue) bool {
	_, data, ok := id.BinaryOK()
	return ok && len(data) == sharedLength
}
