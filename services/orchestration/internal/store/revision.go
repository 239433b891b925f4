package store

import (
	"math"
	"math/rand/v2"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Envelope fields that identify a version. A rollback returns a revision number to another writer, and so does a new document with
// the id of a deleted one. The token tells their versions apart.
const (
	fieldRevision = "rev"
	fieldToken    = "tok"
)

// Revision identifies a version of a document.
type Revision struct {
	ID uuid.UUID
	// Revision is the number of the version: each write raises it by one.
	Revision int64
	// Token is the random number of the write. It is 0 in documents of earlier versions of the program, and in those of InsertNew, whose
	// ids determine their content.
	Token int64
}

// revisionOf reads the revision and the token of a stored document.
func revisionOf(id uuid.UUID, doc bson.Raw) Revision {
	r := Revision{ID: id}
	r.Revision, _ = doc.Lookup(fieldRevision).AsInt64OK()
	r.Token, _ = doc.Lookup(fieldToken).AsInt64OK()
	return r
}

// first is the revision of a new document.
func first(id uuid.UUID) Revision { return Revision{ID: id}.next() }

// next is the revision of a write that is based on this one.
func (r Revision) next() Revision {
	return Revision{ID: r.ID, Revision: r.Revision + 1, Token: 1 + rand.Int64N(math.MaxInt64)}
}

// append appends the fields of a revision. Without a token it appends the number alone.
func (r Revision) append(doc []byte) []byte {
	doc = bsoncore.AppendInt64Element(doc, fieldRevision, r.Revision)
	if r.Token != 0 {
		doc = bsoncore.AppendInt64Element(doc, fieldToken, r.Token)
	}
	return doc
}

// filter matches the document of a workspace while it has this revision. It is encoded by hand, as updates are: they are most of
// what a busy server sends, and the driver's encoders dominate their cost.
func (r Revision) filter(ws uuid.UUID) bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, 96))
	doc = bsoncore.AppendBinaryElement(doc, "_id", bson.TypeBinaryUUID, r.ID[:])
	doc = bsoncore.AppendBinaryElement(doc, "ws", bson.TypeBinaryUUID, ws[:])
	doc = r.append(doc)
	if r.Token == 0 {
		doc = bsoncore.AppendNullElement(doc, fieldToken) // Matches a document without the field.
	}
	return end(doc, start)
}
