package storage

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// MongoDB's limits on what is stored.
const (
	// MaxDocument is the largest document, in bytes.
	MaxDocument = 16 << 20
	// MaxBSON is the largest document in a command or on its way, in bytes: MongoDB leaves room for what surrounds a document.
	MaxBSON = MaxDocument + 16<<10
	// MaxNesting is how many levels of documents and arrays a document may contain.
	MaxNesting = 100
	// maxIndexes is how many indexes a collection has, the _id index included.
	maxIndexes = 64
)

// The errors of documents above MaxDocument that are not above MaxBSON.
var (
	insertTooLarge = mongoerr.BadValue
	updateTooLarge = mongoerr.Kind{Code: 17419, Name: "Location17419"}
)

// checkDocument refuses a document that is too large or nested too deep to be stored. kind is the error of one that is a little
// too large.
func checkDocument(d value.Doc, kind mongoerr.Kind) error {
	if len(d) > MaxBSON {
		kind = mongoerr.ObjectTooLarge
	}
	if len(d) > MaxDocument {
		return mongoerr.New(kind, "document is larger than %d bytes: %d bytes", MaxDocument, len(d))
	}
	if value.NestedDeeper(d, MaxNesting) {
		return mongoerr.New(mongoerr.Overflow, "document exceeds maximum nested object depth: %d", MaxNesting)
	}
	return nil
}
