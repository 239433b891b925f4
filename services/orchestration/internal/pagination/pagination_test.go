package pagination_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestLimit(t *testing.T) {
	t.Parallel()
	n, err := pagination.Limit(nil)
	require.NoError(t, err)
	require.Equal(t, int64(200), n)
	for _, ok := range []int64{0, 1, 200} {
		n, err := pagination.Limit(&orchv1.PageLimit{Value: ok})
		require.NoError(t, err)
		require.Equal(t, ok, n)
	}
	for _, bad := range []int64{-1, 201} {
		_, err := pagination.Limit(&orchv1.PageLimit{Value: bad})
		e := rpc.HTTPError(err)
		require.Equal(t, int32(422), e.GetStatus())
		require.Contains(t, e.GetDetail(), "Invalid limit")
	}
}
