package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// updates are the elements of an update command: {q, u}.
type updates struct{ list []bson.Raw }

// add appends the update of the first document that the filter matches.
func (u *updates) add(filter, update bson.Raw) {
	const around = 16 // Lengths, types and names.
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, len(filter)+len(update)+around))
	doc = bsoncore.AppendDocumentElement(doc, "q", bsoncore.Document(filter))
	doc = bsoncore.AppendDocumentElement(doc, "u", bsoncore.Document(update))
	u.list = append(u.list, end(doc, start))
}
