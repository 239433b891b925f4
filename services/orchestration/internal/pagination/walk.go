package pagination

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Walk visits the matching documents in order until visit returns false. It reads pages of a size, each behind the last document of
// the one before, so writes in between neither repeat nor hide another document.
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
		decode := decoding(s.collection, &page)
		each := func(doc bson.Raw) error {
			last = query.PositionOf(sort, doc)
			return decode(doc)
		}
		if last == nil {
			err = selection.Visit(ctx, sort, 0, size, each)
		} else {
			err = selection.VisitAfter(ctx, sort, last, size, each)
		}
		if err != nil {
			return err
		}
		for _, m := range page {
			if !visit(m) {
				return nil
			}
		}
		if int64(len(page)) < size {
			return nil
		}
	}
}
