package pagination

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Find reads one page of the documents of an owner, a workspace or an account, that match a filter of the store. It serves lists in
// a fixed order whose filter is not a query message. The filter follows from the request, so a page token belongs to the request.
func Find[M proto.Message](
	ctx context.Context, c *store.Collection[M], owner uuid.UUID, filter, sort bson.D, page Query, request proto.Message,
) ([]M, error) {
	size, err := Limit(page.GetLimit())
	if err != nil {
		return nil, err
	}
	w, err := newPageBounds(owner, page, page.GetPageToken(), []proto.Message{request}, sort)
	if err != nil {
		return nil, err
	}
	if err := w.atOffset(page.GetOffset(), size); err != nil {
		return nil, err
	}
	w.selection = c.Store().Resolver().Matching(owner, c.Name(), filter)
	var found []M
	if err := w.visit(ctx, decoding(c, &found)); err != nil {
		return nil, err
	}
	return found, nil
}

// decoding returns a visit that appends the messages of documents.
func decoding[M proto.Message](c *store.Collection[M], to *[]M) func(doc bson.Raw) error {
	return func(doc bson.Raw) error {
		m, err := c.Decode(doc)
		if err == nil {
			*to = append(*to, m)
		}
		return err
	}
}
