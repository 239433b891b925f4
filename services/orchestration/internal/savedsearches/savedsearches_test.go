package savedsearches

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Concurrent creations of one name yield one search, whose id does not change.
func TestANameHasOneSearch(t *testing.T) {
	t.Parallel()
	s := New(storetest.Embedded(t, clock.System{}))
	ctx := requesttest.Incoming(t, uuid.New())
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for n := range ids {
		wg.Go(func() {
			search, err := s.CreateSavedSearch(ctx, &orchv1.CreateSavedSearchRequest{SavedSearch: &orchv1.SavedSearchCreate{Name: "mine"}})
			if err == nil {
				ids[n] = search.GetId()
			}
		})
	}
	wg.Wait()
	list, err := s.ReadSavedSearches(ctx, &orchv1.ReadSavedSearchesRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetSavedSearches(), 1)
	for _, id := range ids {
		require.Equal(t, list.GetSavedSearches()[0].GetId(), id)
	}

	elsewhere := requesttest.Incoming(t, uuid.New())
	_, err = s.ReadSavedSearch(elsewhere, &orchv1.ReadSavedSearchRequest{Id: ids[0]})
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	_, err = s.DeleteSavedSearch(elsewhere, &orchv1.DeleteSavedSearchRequest{Id: ids[0]})
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	_, err = s.DeleteSavedSearch(ctx, &orchv1.DeleteSavedSearchRequest{Id: ids[0]})
	require.NoError(t, err)
}
