package blocks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ids collects one id of each message without duplicates.
func ids[M any](messages []M, id func(M) string) []string {
	var found []string
	seen := map[string]bool{}
	for _, m := range messages {
		if key := id(m); key != "" && !seen[key] {
			seen[key] = true
			found = append(found, key)
		}
	}
	return found
}

// lookupBatch is the number of documents per query.
const lookupBatch = 200

// byID reads the existing documents of these ids.
func byID[M interface {
	proto.Message
	GetId() string
}](ctx context.Context, collection *store.Collection[M], ws uuid.UUID, wanted []string) (map[string]M, error) {
	found := map[string]M{}
	for len(wanted) > 0 {
		batch := wanted[:min(len(wanted), lookupBatch)]
		wanted = wanted[len(batch):]
		keys := make(bson.A, 0, len(batch))
		for _, id := range batch {
			parsed, err := resourceid.Parse(id)
			if err != nil {
				return nil, err
			}
			keys = append(keys, store.Binary(parsed))
		}
		documents, err := collection.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}}, Sort: bson.D{{Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
		if err != nil {
			return nil, err
		}
		for _, m := range documents {
			found[m.GetId()] = m
		}
	}
	return found, nil
}
