package taskruns

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// service is a service whose effects nobody executes but the test.
func service(t *testing.T) *Service {
	t.Helper()
	s := storetest.New(t, clock.System{})
	half := func() float64 { return 0.5 }
	return New(Deps{Store: s, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(s, vocabulary.Orch, half), Random: half})
}

// create stores a task run of no flow run.
func create(t *testing.T, s *Service) *orchv1.TaskRun {
	t.Helper()
	run, err := s.newRun(&orchv1.TaskRunCreate{TaskKey: "t", DynamicKey: uuid.NewString()})
	require.NoError(t, err)
	run, err = s.insert(t.Context(), request.DefaultWorkspace, run, nil, nil)
	require.NoError(t, err)
	return run
}

// pending are the effects of a run that nobody has executed.
func pending(t *testing.T, s *Service, run *orchv1.TaskRun) []store.Effect {
	t.Helper()
	effects, err := s.runs.Store().Pending(t.Context(), query.TaskRun, store.DocumentKey{ID: uuid.MustParse(run.GetId())})
	require.NoError(t, err)
	return effects
}

// A copy that was made is known again, while its row of the history waits, after it was written, and when the run has
// gone on since.
func TestSubflowStateIsCopiedOnce(t *testing.T) {
	t.Parallel()
	s := service(t)
	run := create(t, s)
	runID := uuid.MustParse(run.GetId())
	child := &orchv1.FlowRun{Id: uuid.NewString(), ParentTaskRunId: new(run.GetId())}
	follow := func(state *orchv1.State) {
		e, err := SubflowState(request.DefaultWorkspace, child, state, time.Now())
		require.NoError(t, err)
		require.NoError(t, s.FollowSubflow(t.Context(), []store.Effect{e}))
	}
	state := func(kind orchv1.StateType) *orchv1.State {
		return &orchv1.State{Id: uuid.NewString(), Type: kind, Name: new("mine"), Timestamp: timestamppb.Now(), StateDetails: &orchv1.StateDetails{}}
	}
	first, second := state(orchv1.StateType_STATE_TYPE_RUNNING), state(orchv1.StateType_STATE_TYPE_COMPLETED)
	follow(first)
	follow(first)
	follow(second)
	follow(first)
	got, revision, err := store.GetRevision(t.Context(), s.runs, request.DefaultWorkspace, runID)
	require.NoError(t, err)
	require.Equal(t, int64(3), revision)
	require.Equal(t, orchv1.StateType_STATE_TYPE_COMPLETED, got.GetState().GetType())
	require.Equal(t, child.GetId(), got.GetState().GetStateDetails().GetChildFlowRunId())

	for _, e := range pending(t, s, run) {
		if e.Kind == KindHistory {
			require.NoError(t, s.WriteHistory(t.Context(), []store.Effect{e, e}))
		}
		require.NoError(t, s.runs.Store().Done(t.Context(), query.TaskRun, store.Outbox{DocumentKey: store.DocumentKey{ID: runID}, Effects: []store.Effect{e}}))
	}
	follow(first)
	follow(second)
	_, revision, err = store.GetRevision(t.Context(), s.runs, request.DefaultWorkspace, runID)
	require.NoError(t, err)
	require.Equal(t, int64(3), revision)
}

func TestEffectsThatAreDamagedAreErrors(t *testing.T) {
	t.Parallel()
	s := service(t)
	for _, h := range s.Handlers() {
		for _, body := range [][]byte{nil, make([]byte, 15), append(make([]byte, 16), 0xff)} {
			require.Error(t, h.Run(t.Context(), []store.Effect{{ID: uuid.New(), Kind: h.Kind, Body: body}}), "%s %d", h.Kind, len(body))
		}
	}
}

func TestCacheEntryIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := service(t)
	run := create(t, s)
	_, err := s.transition(t.Context(), request.DefaultWorkspace, uuid.MustParse(run.GetId()), &orchv1.StateCreate{
		Type: orchv1.StateType_STATE_TYPE_COMPLETED, StateDetails: &orchv1.StateDetails{CacheKey: new("k")},
	}, policyOf(&orchv1.TaskRunTransition{}))
	require.NoError(t, err)
	for _, e := range pending(t, s, run) {
		if e.Kind == kindCache {
			require.NoError(t, s.WriteCache(t.Context(), []store.Effect{e}))
			require.NoError(t, s.WriteCache(t.Context(), []store.Effect{e}))
		}
	}
	n, err := s.cache.Count(t.Context(), request.DefaultWorkspace, store.Query{})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
}

// Task runs that have ended stay as they are; the others end, once.
func TestTasksEndWithTheirFlowRun(t *testing.T) {
	t.Parallel()
	s := service(t)
	ctx, ws, flowRun := t.Context(), request.DefaultWorkspace, uuid.New()
	states := map[string]orchv1.StateType{}
	for number := range int32(len(orchv1.StateType_name)) {
		if number == 0 {
			continue
		}
		run, err := s.newRun(&orchv1.TaskRunCreate{TaskKey: "t", DynamicKey: uuid.NewString(), FlowRunId: new(flowRun.String())})
		require.NoError(t, err)
		run, err = s.insert(ctx, ws, run, &orchv1.StateCreate{Type: orchv1.StateType(number)}, nil)
		require.NoError(t, err)
		states[run.GetId()] = run.GetState().GetType()
	}
	other := create(t, s)
	for range 2 {
		require.NoError(t, s.EndOf(ctx, ws, []uuid.UUID{flowRun}, &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_CANCELLED}))
	}
	for id, before := range states {
		run, revision, err := store.GetRevision(ctx, s.runs, ws, uuid.MustParse(id))
		require.NoError(t, err)
		if rules.Terminal(before) {
			require.Equal(t, before, run.GetState().GetType())
			require.Equal(t, int64(1), revision)
			continue
		}
		require.Equal(t, orchv1.StateType_STATE_TYPE_CANCELLED, run.GetState().GetType())
		require.Equal(t, int64(2), revision)
	}
	untouched, err := s.runs.Get(ctx, ws, uuid.MustParse(other.GetId()))
	require.NoError(t, err)
	require.Equal(t, orchv1.StateType_STATE_TYPE_PENDING, untouched.GetState().GetType())
}

// Of the task runs of a flow run that is tried again those wait anew that had failed before, and only those; carrying the
// effect out again changes nothing.
func TestFailedTasksAreRetriedWithTheirFlowRun(t *testing.T) {
	t.Parallel()
	s := service(t)
	ctx, ws, flowRun := t.Context(), request.DefaultWorkspace, uuid.New()
	states := map[string]orchv1.StateType{}
	for number := int32(1); number < int32(len(orchv1.StateType_name)); number++ {
		run, err := s.newRun(&orchv1.TaskRunCreate{TaskKey: "t", DynamicKey: uuid.NewString(), FlowRunId: new(flowRun.String())})
		require.NoError(t, err)
		run, err = s.insert(ctx, ws, run, &orchv1.StateCreate{Type: orchv1.StateType(number)}, nil)
		require.NoError(t, err)
		states[run.GetId()] = run.GetState().GetType()
	}
	retryAt := timestamppb.New(time.Now().Add(time.Minute).Truncate(time.Microsecond))
	retry := func(at time.Time) {
		state := &orchv1.State{
			Id: uuid.NewString(), Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Timestamp: timestamppb.New(at),
			StateDetails: &orchv1.StateDetails{ScheduledTime: retryAt},
		}
		e, err := FlowRetry(ws, flowRun.String(), state, at)
		require.NoError(t, err)
		require.NoError(t, s.RetryWithFlow(ctx, []store.Effect{e, e}))
	}
	check := func(retried bool) {
		for id, before := range states {
			run, revision, err := store.GetRevision(ctx, s.runs, ws, uuid.MustParse(id))
			require.NoError(t, err)
			if before != orchv1.StateType_STATE_TYPE_FAILED || !retried {
				require.Equal(t, before, run.GetState().GetType())
				require.Equal(t, int64(1), revision)
				continue
			}
			require.Equal(t, "AwaitingRetry", run.GetState().GetName())
			require.Equal(t, retryAt.AsTime(), run.GetState().GetStateDetails().GetScheduledTime().AsTime())
			require.Zero(t, run.GetRunCount())
			require.Equal(t, int64(2), revision)
		}
	}
	retry(time.Now().Add(-time.Hour))
	check(false)
	retry(time.Now().Add(time.Second))
	check(true)
}
