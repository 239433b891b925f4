package pagination

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// maxSearched and maxSearchedBytes bound the documents that one call of Search reads.
	maxSearched      = 5000
	maxSearchedBytes = 128 << 20
)

// SearchResult is what one call of a search found.
type SearchResult[M proto.Message] struct {
	Results []M
	// Searched is the number of documents that the call has read.
	Searched int64
	// Last is the last of them, and Next the token behind it; both are zero when the search is complete.
	Last M
	Next string
}

// errSearchStops ends the read of a search that has reached a bound.
var errSearchStops = errors.New("the search stops")

// Search reads the documents of a query in order, and returns at most size of those for which matches returns true. The query selects
// what an index or the store can; matches decides what only the message shows. The search stops at its bounds, and the caller continues
// it by the token. The query message page has the criteria of the whole search.
func (s Source[M]) Search(
	ctx context.Context, q proto.Message, order protoreflect.Enum, page proto.Message, token string, size int64, matches func(M) bool,
) (SearchResult[M], error) {
	var found SearchResult[M]
	w, err := s.window(ctx, q, order, page, token)
	if err != nil || size == 0 {
		return found, err
	}
	if w.selection, err = s.Select(ctx, q); err != nil {
		return found, err
	}
	w.limit = maxSearched + 1
	var last query.Position
	var read, kept int // Bytes of the documents that were read, and of those that match.
	err = w.read(ctx, func(doc bson.Raw) error {
		full := int64(len(found.Results)) == size || found.Searched == maxSearched || read+len(doc) > maxSearchedBytes || kept+len(doc) > maxPageBytes
		if full && found.Searched > 0 {
			return errSearchStops
		}
		m, err := s.collection.Decode(doc)
		if err != nil {
			return err
		}
		found.Searched++
		found.Last, last = m, query.PositionOf(w.sort, doc)
		read += len(doc)
		if matches(m) {
			found.Results = append(found.Results, m)
			kept += len(doc)
		}
		return nil
	})
	if errors.Is(err, errSearchStops) {
		found.Next, err = w.next(last)
		return found, err
	}
	var none M
	found.Last = none
	return found, err
}
