package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// TestExpiredDocumentsKeepTheirEffects: while the broker is away, an effect may wait for longer than the maximum age. Its document
// is not deleted before.
func TestExpiredDocumentsKeepTheirEffects(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, clock.System{})
	runs := store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{})
	ended := timestamppb.New(time.Now().Add(-48 * time.Hour))
	insert := func(effects ...store.Effect) uuid.UUID {
		id := uuid.New()
		require.NoError(t, runs.Insert(t.Context(), request.DefaultWorkspace, &orchv1.FlowRun{Id: id.String(), Name: "run", EndTime: ended}, effects...))
		return id
	}
	insert(s.ResourceEffect("publish", request.DefaultWorkspace, uuid.New()))
	free := insert()

	found, err := store.Oldest(t.Context(), runs, request.DefaultWorkspace, store.Expired{Before: time.Now()}.Filter("end_time"), "end_time", true, nil, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, free.String(), found[0].Message.GetId())
}
