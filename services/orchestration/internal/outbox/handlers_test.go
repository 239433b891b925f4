package outbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, []store.Effect) error { return nil }
	merged, err := outbox.Merge(outbox.Handlers{"a": handler}, nil, outbox.Handlers{"b": handler, "c": handler})
	require.NoError(t, err)
	require.Len(t, merged, 3)
	_, err = outbox.Merge(outbox.Handlers{"a": handler, "b": handler}, outbox.Handlers{"b": handler})
	require.ErrorContains(t, err, `"b"`)
}
