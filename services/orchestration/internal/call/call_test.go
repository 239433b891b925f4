package call_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/call/calltest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestLocate(t *testing.T) {
	t.Parallel()
	ws, id := uuid.New(), uuid.New()
	gotWS, gotID, err := call.Locate(calltest.Incoming(t, ws), id.String())
	require.NoError(t, err)
	require.Equal(t, ws, gotWS)
	require.Equal(t, id, gotID)

	_, _, err = call.Locate(calltest.Incoming(t, ws), "no id")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorContains(t, err, `"no id"`)

	_, _, err = call.Locate(t.Context(), id.String())
	require.ErrorIs(t, err, request.ErrNoWorkspace)
	require.NotErrorIs(t, err, store.ErrNotFound)
}
