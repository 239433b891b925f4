package embeddedmongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// Count executes the count command without a connection, on data that is on disk. A limit of 0 counts all matches. Reply and errors
// are as for Insert, but the command too ends when ctx ends.
func (d Dialer) Count(ctx context.Context, database, collection string, filter bson.Raw, limit int64) (bson.Raw, error) {
	list, err := valid([]bson.Raw{filter})
	if err != nil {
		return nil, fmt.Errorf("execute count: filter %w", err)
	}
	body := value.NewBuilder().Add("count", value.OfString(collection)).Add("query", value.OfDoc(list[0]))
	if limit > 0 {
		body.Add("limit", value.OfInt(limit))
	}
	if end, ok := ctx.Deadline(); ok {
		body.Add("maxTimeMS", value.OfInt(max(time.Until(end).Milliseconds(), 1)))
	}
	body.Open("readConcern", bson.TypeEmbeddedDocument).Add("level", value.OfString("majority")).Close()
	return d.execute(ctx, &wire.Message{DB: database, Body: body.Done()})
}
