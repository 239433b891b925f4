package outbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMuxRefusesTwoHandlersOfOneKind(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, []store.Effect) error { return nil }
	mux := outbox.NewMux()
	require.NoError(t, mux.Handle(outbox.Handlers{"a": handler}, nil, outbox.Handlers{"b": handler, "c": handler}))
	require.ErrorContains(t, mux.Handle(outbox.Handlers{"b": handler}), `"b"`)
}
