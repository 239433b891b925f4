package pagination

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// errPageFull ends a page of Walk that has maxPageBytes.
var errPageFull = errors.New("page is full")

// Walk visits the matching documents in order until visit returns false. It reads pages of a size, or of maxPageBytes, each behind the
// last document of the one before. Writes in between neither repeat nor hide another document.
func (s Source[M]) Walk(ctx context.Context, q proto.Message, order protoreflect.Enum, size int64, visit func(m M) bool) error {
	selection, err := s.Select(ctx, q)
	if err != nil {
		return err
	}
	sort, err := query.Sort(Order(order, s.order))
	if err != nil {
		return err
	}
	var last query.Position
	for {
		var page []M
		var bytes int
		decode := decoding(s.collection, &page)
		each := func(doc bson.Raw) error {
			if bytes += len(doc); bytes > maxPageBytes && len(page) > 0 {
				return errPageFull
			}
			last = query.PositionOf(sort, doc)
			return decode(doc)
		}
		if last == nil {
			err = selection.Visit(ctx, sort, 0, size, each)
		} else {
			err = selection.VisitAfter(ctx, sort, last, size, each)
		}
		full := errors.Is(err, errPageFull)
		if err != nil && !full {
			return err
		}
		for _, m := range page {
			if !visit(m) {
				return nil
			}
		}
		if int64(len(page)) < size && !full {
			return nil
		}
	}
}
