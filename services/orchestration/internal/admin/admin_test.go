package admin

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTheDefaultStorageOfAWorkspace(t *testing.T) {
	t.Parallel()
	everyBlock := func(context.Context, uuid.UUID, uuid.UUID) ([]string, error) { return []string{keepsResults}, nil }
	s := New(storetest.Embedded(t, clock.System{}), everyBlock)
	here, there := requesttest.Incoming(t, uuid.New()), requesttest.Incoming(t, uuid.New())
	block := uuid.NewString()
	read := func() *orchv1.ServerDefaultResultStorage {
		storage, err := s.ReadServerDefaultResultStorage(here, &emptypb.Empty{})
		require.NoError(t, err)
		return storage
	}
	clearIt := func() {
		_, err := s.ClearServerDefaultResultStorage(here, &emptypb.Empty{})
		require.NoError(t, err)
	}
	require.Nil(t, read().DefaultResultStorageBlockId)
	clearIt() // There is nothing to clear yet.
	for range 2 {
		_, err := s.UpdateServerDefaultResultStorage(here, &orchv1.UpdateServerDefaultResultStorageRequest{
			Storage: &orchv1.ServerDefaultResultStorageUpdate{DefaultResultStorageBlockId: block},
		})
		require.NoError(t, err)
		require.Equal(t, block, read().GetDefaultResultStorageBlockId())
	}
	other, err := s.ReadServerDefaultResultStorage(there, &emptypb.Empty{})
	require.NoError(t, err)
	require.Nil(t, other.DefaultResultStorageBlockId)
	clearIt()
	require.Nil(t, read().DefaultResultStorageBlockId)
}
