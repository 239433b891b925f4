package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A writer that lost every race used to give up after 20 attempts without a pause, within milliseconds. It now pauses,
// so a burst of other writers ends before it gives up.
func TestAWriterOutlastsABurstOfOthers(t *testing.T) {
	t.Parallel()
	s, done := open(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	defer done()
	c, ws, key := flows(s), uuid.New(), uuid.New()
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	tag := func(current *orchv1.Flow, tag string) *store.Change[*orchv1.Flow] {
		next := proto.CloneOf(current)
		next.Tags = append(next.Tags, tag)
		return &store.Change[*orchv1.Flow]{Message: next}
	}
	var last time.Time
	burst, attempts := 150*time.Millisecond, 0
	began := time.Now()
	_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		attempts++
		last = time.Now()
		if last.Sub(began) < burst {
			_, err := c.Mutate(t.Context(), ws, key, func(theirs *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
				return tag(theirs, "theirs"), nil
			})
			require.NoError(t, err)
		}
		return tag(current, "ours"), nil
	})
	require.NoError(t, err, "after %d attempts", attempts)
}
