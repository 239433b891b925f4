package flows

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// caused are the kinds of effects that wait in a flow's outbox: nobody carries them out here.
func caused(t *testing.T, s *Service, id string) []string {
	t.Helper()
	pending, err := s.flows.Store().Pending(t.Context(), query.Flow, store.DocumentKey{ID: uuid.MustParse(id)})
	require.NoError(t, err)
	kinds := []string{}
	for _, e := range pending {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestAFlowIsKnownByItsNameWithinAWorkspace(t *testing.T) {
	t.Parallel()
	s := New(storetest.Embedded(t, clock.System{}), vocabulary.Orch, outbox.Flusher{})
	here, there := requesttest.Incoming(t, uuid.New()), requesttest.Incoming(t, uuid.New())
	create := &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl", Tags: []string{"a"}}}
	first, err := s.CreateFlow(here, create)
	require.NoError(t, err)
	again, err := s.CreateFlow(here, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl", Tags: []string{"b"}}})
	require.NoError(t, err)
	require.True(t, proto.Equal(first, again), "creating it again changes nothing")
	other, err := s.CreateFlow(there, create)
	require.NoError(t, err)
	require.NotEqual(t, first.GetId(), other.GetId())

	_, err = s.ReadFlow(there, &orchv1.ReadFlowRequest{Id: first.GetId()})
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	found, err := s.ReadFlowByName(there, &orchv1.ReadFlowByNameRequest{Name: "etl"})
	require.NoError(t, err)
	require.Equal(t, other.GetId(), found.GetId())
}

func TestOnlyAChangeIsPublished(t *testing.T) {
	t.Parallel()
	s := New(storetest.Embedded(t, clock.System{}), vocabulary.Orch, outbox.Flusher{})
	ctx := requesttest.Incoming(t, uuid.New())
	flow, err := s.CreateFlow(ctx, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl", Tags: []string{"a"}}})
	require.NoError(t, err)
	update := func(mask []string, tags ...string) {
		_, err := s.UpdateFlow(ctx, &orchv1.UpdateFlowRequest{
			Id: flow.GetId(), Flow: &orchv1.FlowUpdate{Tags: tags}, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask},
		})
		require.NoError(t, err)
	}
	created := caused(t, s, flow.GetId())
	require.Len(t, created, 1)
	update(nil, "ignored")
	update([]string{"tags"}, "a")
	require.Equal(t, created, caused(t, s, flow.GetId()))
	update([]string{"tags"}, "b")
	require.Len(t, caused(t, s, flow.GetId()), 2)
}

func TestDeletingTakesWhatBelongsToTheFlowAlong(t *testing.T) {
	t.Parallel()
	s := New(storetest.Embedded(t, clock.System{}), vocabulary.Orch, outbox.Flusher{})
	ctx := requesttest.Incoming(t, uuid.New())
	flow, err := s.CreateFlow(ctx, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl"}})
	require.NoError(t, err)
	_, err = s.DeleteFlow(ctx, &orchv1.DeleteFlowRequest{Id: flow.GetId()})
	require.NoError(t, err)
	require.Subset(t, caused(t, s, flow.GetId()), []string{"deployments_delete", "flow_runs_delete", store.KindRemove})
	_, err = s.DeleteFlow(ctx, &orchv1.DeleteFlowRequest{Id: flow.GetId()})
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
}
