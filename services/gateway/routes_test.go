package gateway_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// TestEveryRouteStatesItsScope fails when a new rpc says neither who may call it nor that all may.
func TestEveryRouteStatesItsScope(t *testing.T) {
	t.Parallel()
	api, err := transcode.New(transcode.Options{Services: openapi.Services(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NotEmpty(t, api.Operations())
	for _, op := range api.Operations() {
		require.NotEqual(t, op.Public, (op.Scope != ""), "%s must be either public or scoped", op.Describe())
	}
}
