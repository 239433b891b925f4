package embeddedmongo_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// Replies of any size share reused memory, and each reader gets its own documents.
func TestConcurrentRepliesAreApart(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("texts")
	sizes := []int{1, 300, 3000, 20_000, 300_000}
	for group, size := range sizes {
		for i := range 8 {
			_, err := c.InsertOne(ctx, M{"_id": fmt.Sprint(group, "-", i), "group": group, "text": bytes.Repeat([]byte{byte('a' + group)}, size+i)})
			require.NoError(t, err)
		}
	}
	parallelWriters(t, 2*len(sizes), func(worker int) error {
		group := worker % len(sizes)
		for range 30 {
			cursor, err := c.Find(ctx, M{"group": group}, options.Find().SetSort(M{"_id": 1}).SetBatchSize(int32(3+worker)))
			if err != nil {
				return err
			}
			var found []struct {
				ID   string `bson:"_id"`
				Text bson.Binary
			}
			if err := cursor.All(ctx, &found); err != nil {
				return err
			}
			if len(found) != 8 {
				return fmt.Errorf("group %d has %d documents", group, len(found))
			}
			for i, d := range found {
				if !bytes.Equal(d.Text.Data, bytes.Repeat([]byte{byte('a' + group)}, sizes[group]+i)) {
					return fmt.Errorf("document %s of group %d has another text", d.ID, group)
				}
			}
		}
		return nil
	})
}
