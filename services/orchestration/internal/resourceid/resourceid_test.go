package resourceid_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestLocate(t *testing.T) {
	t.Parallel()
	ws, id := uuid.New(), uuid.New()
	gotWS, gotID, err := resourceid.FromRequest(requesttest.Incoming(t, ws), id.String())
	require.NoError(t, err)
	require.Equal(t, ws, gotWS)
	require.Equal(t, id, gotID)

	_, _, err = resourceid.FromRequest(requesttest.Incoming(t, ws), "no id")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorContains(t, err, `"no id"`)

	_, _, err = resourceid.FromRequest(t.Context(), id.String())
	require.ErrorIs(t, err, request.ErrNoWorkspace)
	require.NotErrorIs(t, err, store.ErrNotFound)
}
