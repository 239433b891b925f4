package call_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// incoming is the context of a call as the gateway makes it.
func incoming(t *testing.T, ws uuid.UUID) context.Context {
	t.Helper()
	md, ok := metadata.FromOutgoingContext(request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: ws}))
	require.True(t, ok)
	return metadata.NewIncomingContext(t.Context(), md)
}

func TestLocate(t *testing.T) {
	t.Parallel()
	ws, id := uuid.New(), uuid.New()
	gotWS, gotID, err := call.Locate(incoming(t, ws), id.String())
	require.NoError(t, err)
	require.Equal(t, ws, gotWS)
	require.Equal(t, id, gotID)

	_, _, err = call.Locate(incoming(t, ws), "no id")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorContains(t, err, `"no id"`)

	_, _, err = call.Locate(t.Context(), id.String())
	require.ErrorIs(t, err, request.ErrNoWorkspace)
	require.NotErrorIs(t, err, store.ErrNotFound)
}
