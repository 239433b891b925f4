package pagination

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// byRank is the sort of Ranked in page tokens.
var byRank = bson.D{{Key: "rank", Value: 1}, {Key: "_id", Value: 1}}

// Ranked returns one page of rows that the caller has sorted by rank and id, because no index does. Owner and request are those of
// Find.
func Ranked[M any](
	ctx context.Context, owner uuid.UUID, rows []M, rank func(row M) (rank int64, id uuid.UUID), page Query, request proto.Message,
) ([]M, error) {
	size, err := Limit(page.GetLimit())
	if err != nil {
		return nil, err
	}
	w, err := newPageBounds(owner, page, page.GetPageToken(), []proto.Message{request}, byRank)
	if err != nil {
		return nil, err
	}
	if err := w.atOffset(page.GetOffset(), size); err != nil {
		return nil, err
	}
	first := int(min(w.offset, int64(len(rows))))
	if w.started {
		after, _ := w.token.after[0].AsInt64OK()
		_, last, _ := w.token.after[1].BinaryOK()
		first = slices.IndexFunc(rows, func(row M) bool {
			n, id := rank(row)
			return cmp.Or(cmp.Compare(n, after), bytes.Compare(id[:], last)) > 0
		})
		if first < 0 {
			first = len(rows)
		}
	}
	rows = rows[first:min(first+int(size), len(rows))]
	if size == 0 || int64(len(rows)) < size {
		return rows, nil
	}
	n, id := rank(rows[size-1])
	last, err := bson.Marshal(bson.D{{Key: "rank", Value: n}, {Key: "_id", Value: store.Binary(id)}})
	if err != nil {
		return nil, err
	}
	return rows, w.announce(ctx, query.PositionOf(byRank, last))
}
