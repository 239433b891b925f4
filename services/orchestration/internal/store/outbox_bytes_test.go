package store_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestOutboxesAreReadWithinABound adds outboxes until one read does not hold them, and reads the rest.
func TestOutboxesAreReadWithinABound(t *testing.T) {
	t.Parallel()
	s, done := open(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	defer done()
	ws := uuid.New()
	documents := []store.DocumentKey{{Workspace: ws, ID: uuid.New()}} // It is missing.
	var boxes []store.Outbox
	var rest []store.DocumentKey
	testkit.FillBound(t, "outboxes that a worker reads at once", 8<<20, func() bool {
		id := s.NewID()
		documents = append(documents, store.DocumentKey{Workspace: ws, ID: id})
		effect := store.Effect{ID: uuid.New(), At: s.Now(), Kind: "test", Body: bytes.Repeat([]byte{1}, 1_500_000)}
		require.NoError(t, flows(s).Insert(t.Context(), ws, &orchv1.Flow{Id: id.String(), Name: id.String()}, effect))
		var err error
		boxes, rest, err = s.PendingOf(t.Context(), query.Flow, documents)
		require.NoError(t, err)
		return rest != nil
	}, func() (size int) {
		for _, box := range boxes {
			size += len(box.Effects[0].Body)
		}
		return size
	})
	require.Len(t, rest, len(documents)-len(boxes))
	last, more, err := s.PendingOf(t.Context(), query.Flow, rest)
	require.NoError(t, err)
	require.Nil(t, more)
	require.Len(t, last, len(documents)-1-len(boxes))
}
