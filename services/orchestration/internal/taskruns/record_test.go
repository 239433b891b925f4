package taskruns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/taskrunevents"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func received(ws uuid.UUID, published ...*orchv1.ReceivedEvent) []events.Received {
	batch := make([]events.Received, len(published))
	for i, e := range published {
		batch[i] = events.Received{Workspace: ws, Event: e}
	}
	return batch
}

// runsIn reads what a workspace has recorded, without what tells when it was written.
func runsIn(ctx context.Context, t require.TestingT, s *Service, ws uuid.UUID) ([]*orchv1.TaskRun, []*orchv1.TaskRunStateRecord) {
	byID := bson.D{{Key: "_id", Value: 1}}
	runs, err := s.runs.Find(ctx, ws, store.Query{Sort: byID})
	require.NoError(t, err)
	for _, run := range runs {
		run.Created, run.Updated = nil, nil
	}
	states, err := s.states.Find(ctx, ws, store.Query{Sort: byID})
	require.NoError(t, err)
	return runs, states
}

// Three connections, each with all events in its own order, cut into batches anywhere, at once: what is stored is what
// one connection stores that sends each event once and in order.
func TestRecordIsBlindToOrderRepetitionAndConnections(t *testing.T) {
	t.Parallel()
	s := service(t)
	const connections = 3
	rapid.Check(t, func(t *rapid.T) {
		flowRun := uuid.NewString()
		var published []*orchv1.ReceivedEvent
		for i := range rapid.IntRange(1, 4).Draw(t, "runs") {
			for _, e := range drawPublished(t, uuid.NewString(), flowRun) {
				e.Payload = []byte(strings.ReplaceAll(string(e.Payload), `"dynamic_key": "0"`, fmt.Sprintf(`"dynamic_key": "%d"`, i)))
				published = append(published, e)
			}
		}
		// The workspaces differ so that ids may be the same in turn, not at once: one is emptied before the other is filled.
		ws := uuid.New()
		require.NoError(t, s.Record(t.Context(), received(ws, published...)))
		wantRuns, wantStates := runsIn(t.Context(), t, s, ws)
		require.Len(t, wantStates, len(published))
		require.NoError(t, s.runs.DeleteMany(t.Context(), ws, nil))
		require.NoError(t, s.states.DeleteMany(t.Context(), ws, nil))

		var deliveries [][][]events.Received
		for range connections {
			var batches [][]events.Received
			rest := received(ws, rapid.Permutation(slices.Clone(published)).Draw(t, "order")...)
			for len(rest) > 0 {
				n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
				batches, rest = append(batches, rest[:n]), rest[n:]
			}
			deliveries = append(deliveries, batches)
		}
		group, ctx := errgroup.WithContext(t.Context())
		for _, batches := range deliveries {
			group.Go(func() error {
				for _, batch := range batches {
					if err := s.Record(ctx, batch); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
		gotRuns, gotStates := runsIn(t.Context(), t, s, ws)
		require.Empty(t, cmp.Diff(wantRuns, gotRuns, protocmp.Transform()))
		require.Empty(t, cmp.Diff(wantStates, gotStates, protocmp.Transform()))
	})
}

func TestRecordKeepsTheIDThatAKeyHas(t *testing.T) {
	t.Parallel()
	s := service(t)
	ws, flowRun, first, other := request.DefaultWorkspace, uuid.NewString(), uuid.NewString(), uuid.NewString()
	require.NoError(t, s.Record(t.Context(), received(ws, telling(first, flowRun, noon, "PENDING", drawnKeys))))
	require.NoError(t, s.Record(t.Context(), received(ws, telling(other, flowRun, noon.Add(time.Second), "RUNNING", drawnKeys))))
	// Both in one batch, the later one first: the id of the older state stays.
	keys := `"task_key": "t", "dynamic_key": "1"`
	second, third := uuid.NewString(), uuid.NewString()
	require.NoError(t, s.Record(t.Context(), received(ws,
		telling(third, flowRun, noon.Add(time.Second), "COMPLETED", keys), telling(second, flowRun, noon, "PENDING", keys))))

	runs, states := runsIn(t.Context(), t, s, ws)
	require.Len(t, runs, 2)
	names := map[string]string{}
	for _, run := range runs {
		names[run.GetId()] = run.GetState().GetName()
		require.Equal(t, run.GetId(), run.GetState().GetStateDetails().GetTaskRunId())
		require.Equal(t, flowRun, run.GetState().GetStateDetails().GetFlowRunId())
	}
	require.Equal(t, map[string]string{first: "Running", second: "Completed"}, names)
	require.Len(t, states, 4)
	for _, state := range states {
		require.Contains(t, names, state.GetTaskRunId())
		require.Equal(t, state.GetTaskRunId(), state.GetState().GetStateDetails().GetTaskRunId())
	}
}

// TestRecordBelongsToTheFirstFlowRunOfAnEvent: tasks in processes of a client that ran another flow before name that one too.
func TestRecordBelongsToTheFirstFlowRunOfAnEvent(t *testing.T) {
	t.Parallel()
	s := service(t)
	flowRun, before := uuid.NewString(), uuid.NewString()
	e := telling(uuid.NewString(), flowRun, noon, "PENDING", drawnKeys)
	e.Related = append(e.Related, proto.CloneOf(e.GetRelated()[0]))
	last := e.GetRelated()[len(e.GetRelated())-1].GetLabels()
	last["orch.resource.id"] = "orch.flow-run." + before
	require.Equal(t, "flow-run", last["orch.resource.role"])
	require.NoError(t, s.Record(t.Context(), received(request.DefaultWorkspace, e)))
	runs, states := runsIn(t.Context(), t, s, request.DefaultWorkspace)
	require.Len(t, runs, 1)
	require.Equal(t, flowRun, runs[0].GetFlowRunId())
	require.Equal(t, flowRun, states[0].GetState().GetStateDetails().GetFlowRunId())
}

// A client that reads of a run's state finds it in the history, with the earlier states: a client that waited for the end of a run asks
// for its states next.
func TestRecordShowsNoStateBeforeItsHistory(t *testing.T) {
	t.Parallel()
	s := service(t)
	ws, flowRun := request.DefaultWorkspace, uuid.NewString()
	for range 5 {
		var last uuid.UUID
		var published []*orchv1.ReceivedEvent
		for range 300 {
			last = uuid.New()
			for n, state := range []string{"PENDING", "RUNNING", "COMPLETED"} {
				published = append(published, telling(last.String(), flowRun, noon.Add(time.Duration(n)*time.Second), state,
					fmt.Sprintf(`"task_key": "t", "dynamic_key": %q`, last)))
			}
		}
		recorded := make(chan error, 1)
		go func() { recorded <- s.Record(t.Context(), received(ws, published...)) }()
		for {
			_, err := s.runs.Get(t.Context(), ws, last)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		history, err := s.history.Of(t.Context(), ws, last)
		require.NoError(t, err)
		require.Len(t, history.GetStates(), 3)
		require.NoError(t, <-recorded)
	}
}

func TestRecordOfARunThatTheServerMade(t *testing.T) {
	t.Parallel()
	s := service(t)
	run := create(t, s)
	at := run.GetState().GetTimestamp().AsTime()
	keys := fmt.Sprintf(`"task_key": %q, "dynamic_key": %q, "run_count": 1`, run.GetTaskKey(), run.GetDynamicKey())
	require.NoError(t, s.Record(t.Context(), received(request.DefaultWorkspace,
		telling(run.GetId(), "", at.Add(time.Second), "RUNNING", keys), telling(run.GetId(), "", at.Add(-time.Second), "SCHEDULED", keys))))
	got, err := s.runs.Get(t.Context(), request.DefaultWorkspace, uuid.MustParse(run.GetId()))
	require.NoError(t, err)
	require.Equal(t, "Running", got.GetState().GetName())
	require.Equal(t, run.GetName(), got.GetName(), "what the event does not tell of stays")
	require.Equal(t, int64(1), got.GetRunCount())
	require.Len(t, pending(t, s, got), 2, "what the server's own state caused is still to be done")
}

func TestRecordOfADeletedRunIsNone(t *testing.T) {
	t.Parallel()
	s := service(t)
	run := create(t, s)
	require.NoError(t, s.delete(t.Context(), request.DefaultWorkspace, uuid.MustParse(run.GetId())))
	for _, ws := range []uuid.UUID{request.DefaultWorkspace, uuid.New()} {
		require.NoError(t, s.Record(t.Context(), received(ws, telling(run.GetId(), "", noon, "RUNNING", drawnKeys))))
		runs, states := runsIn(t.Context(), t, s, ws)
		require.Empty(t, runs)
		require.Empty(t, states)
	}
}

func TestRecordRefusesEachUnreadableEventAlone(t *testing.T) {
	t.Parallel()
	s := service(t)
	ws := request.DefaultWorkspace
	good := telling(uuid.NewString(), uuid.NewString(), noon, "RUNNING", drawnKeys)
	edit := func(change func(*orchv1.ReceivedEvent)) *orchv1.ReceivedEvent {
		e := telling(uuid.NewString(), uuid.NewString(), noon, "RUNNING", drawnKeys)
		change(e)
		return e
	}
	bad := []*orchv1.ReceivedEvent{
		edit(func(e *orchv1.ReceivedEvent) { e.Resource.Labels["orch.resource.id"] = "orch.task-run.x" }),
		edit(func(e *orchv1.ReceivedEvent) { e.Resource.Labels["orch.resource.id"] = "thing" }),
		edit(func(e *orchv1.ReceivedEvent) { e.Related[0].Labels["orch.resource.id"] = "orch.flow-run." }),
		edit(func(e *orchv1.ReceivedEvent) { e.Payload = []byte(`{}`) }),
		edit(func(e *orchv1.ReceivedEvent) { e.Payload = []byte(`{"validated_state": {}, "task_run": {}}`) }),
		edit(func(e *orchv1.ReceivedEvent) { e.Payload = []byte(`{"validated_state": [], "task_run": 1}`) }),
		edit(func(e *orchv1.ReceivedEvent) {
			e.Payload = []byte(`{"validated_state": {"type": "RUNNING"}, "task_run": {"task_key": "t"}}`)
		}),
		edit(func(e *orchv1.ReceivedEvent) {
			e.Payload = []byte(`{"validated_state": {"type": "SLEEPING"}, "task_run": {"task_key": "t", "dynamic_key": "0"}}`)
		}),
		edit(func(e *orchv1.ReceivedEvent) {
			e.Payload = []byte(`{"validated_state": {"type": "RUNNING"}, "task_run": {"task_key": "t", "dynamic_key": "0", "run_count": "x"}}`)
		}),
	}
	others := []*orchv1.ReceivedEvent{
		edit(func(e *orchv1.ReceivedEvent) { e.Event = "orch.task-runs" }),
		edit(func(e *orchv1.ReceivedEvent) { e.Resource.Labels["orch.orchestration"] = "server" }),
	}
	err := s.Record(t.Context(), received(ws, slices.Concat(bad, []*orchv1.ReceivedEvent{good}, others)...))
	var rejected *broker.Rejected
	require.ErrorAs(t, err, &rejected)
	require.ErrorIs(t, err, taskrunevents.ErrUnreadable)
	require.Len(t, rejected.Reasons, len(bad))
	for _, e := range bad {
		require.ErrorIs(t, rejected.Reasons[broker.Key{Workspace: ws, ID: uuid.MustParse(e.GetId())}], taskrunevents.ErrUnreadable)
	}
	runs, states := runsIn(t.Context(), t, s, ws)
	require.Len(t, runs, 1)
	require.Len(t, states, 1)
	require.Equal(t, good.GetId(), states[0].GetId())
}

// A decision on a run that a client's event changes meanwhile is made again.
func TestRecordBesideTheServer(t *testing.T) {
	t.Parallel()
	s := service(t)
	run := create(t, s)
	id := uuid.MustParse(run.GetId())
	_, err := s.runs.Mutate(t.Context(), request.DefaultWorkspace, id, func(current *orchv1.TaskRun, _ int64) (*store.Change[*orchv1.TaskRun], error) {
		// In between another writer records.
		err := s.Record(t.Context(), received(request.DefaultWorkspace, telling(run.GetId(), "",
			run.GetState().GetTimestamp().AsTime().Add(time.Hour), "RUNNING",
			fmt.Sprintf(`"task_key": %q, "dynamic_key": %q`, run.GetTaskKey(), run.GetDynamicKey()))))
		if err != nil || current.GetState().GetName() == "Running" {
			return nil, err
		}
		return &store.Change[*orchv1.TaskRun]{Message: run}, nil
	})
	require.NoError(t, err)
	got, err := s.runs.Get(t.Context(), request.DefaultWorkspace, id)
	require.NoError(t, err)
	require.Equal(t, "Running", got.GetState().GetName())
}
