package outbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/outbox"
)

func TestMuxRefusesTwoHandlersOfOneKind(t *testing.T) {
	t.Parallel()
	mux := outbox.NewMux()
	require.NoError(t, mux.Handle(outbox.Handler{Kind: "a"}, outbox.Handler{Kind: "b"}))
	require.ErrorContains(t, mux.Handle(outbox.Handler{Kind: "c"}, outbox.Handler{Kind: "b"}), `"b"`)
}
