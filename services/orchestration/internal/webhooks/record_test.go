package webhooks

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestADeliveryIsDroppedOnlyWhenItCanNeverBeStored: a refusal that may pass redelivers the entries, and a permanent one is skipped.
func TestADeliveryIsDroppedOnlyWhenItCanNeverBeStored(t *testing.T) {
	t.Parallel()
	s := &Service{log: slog.New(slog.DiscardHandler)}
	ids := []string{"first", "second"}
	tooLarge := store.Refusal{Position: 0, Err: store.Permanent(errors.New("too large"))}
	may := store.Refusal{Position: 1, Err: errors.New("not now")}
	require.NoError(t, s.skip(t.Context(), ids, []store.Refusal{tooLarge}))
	require.EqualError(t, s.skip(t.Context(), ids, []store.Refusal{tooLarge, may}), "store delivery second: not now")
}
