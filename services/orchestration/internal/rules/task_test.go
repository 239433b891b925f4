package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// taskIn is a task run of a flow run in a state; edits change it.
func taskIn(kind orchv1.StateType, edits ...func(*orchv1.TaskRun)) *orchv1.TaskRun {
	run := &orchv1.TaskRun{
		Id: uuid.NewString(), FlowRunId: new(uuid.NewString()), TaskKey: "t", DynamicKey: "0", EmpiricalPolicy: &orchv1.TaskRunPolicy{},
		State: &orchv1.State{
			Id: uuid.NewString(), Type: kind, Name: new(rules.DefaultName(kind)),
			Timestamp: timestamppb.New(noon.Add(-time.Minute)), StateDetails: &orchv1.StateDetails{},
		},
	}
	for _, edit := range edits {
		edit(run)
	}
	return run
}

func taskDetails(edit func(*orchv1.StateDetails)) func(*orchv1.TaskRun) {
	return func(r *orchv1.TaskRun) { edit(r.State.StateDetails) }
}

func ranTimes(n int64) func(*orchv1.TaskRun) { return func(r *orchv1.TaskRun) { r.RunCount = n } }

func retries(n int64, delay *orchv1.RetryDelay) func(*orchv1.TaskRun) {
	return func(r *orchv1.TaskRun) {
		r.EmpiricalPolicy.Retries, r.EmpiricalPolicy.RetryDelay = &n, delay
	}
}

func delays(values ...float64) *orchv1.RetryDelay {
	return &orchv1.RetryDelay{Kind: &orchv1.RetryDelay_Numbers{Numbers: &orchv1.NumberList{Values: values}}}
}

func flowIn(kind orchv1.StateType) *orchv1.FlowRun { return runIn(kind) }

func judgeTask(policy rules.TaskPolicy, run *orchv1.TaskRun, p *orchv1.StateCreate, facts rules.TaskFacts) *rules.TaskTransition {
	if facts.Random == nil {
		facts.Random = func() float64 { return 0.5 }
	}
	t := rules.ProposeTask(run, p, facts, noon, uuid.New)
	policy.Judge(t)
	return t
}

func TestTaskPolicies(t *testing.T) {
	running1 := rules.TaskFacts{FlowRun: flowIn(running)}
	cached := &orchv1.State{Type: completed, Data: []byte(result), StateDetails: &orchv1.StateDetails{CacheKey: new("k")}}
	fromCache := rules.TaskFacts{FlowRun: flowIn(running), Cached: cached}
	key := &orchv1.StateDetails{CacheKey: new("k")}
	withResult := func(r *orchv1.TaskRun) { r.State.Data = []byte(result) }
	alone := func(r *orchv1.TaskRun) { r.FlowRunId = nil }
	core, background := rules.CoreTaskPolicy, rules.BackgroundTaskPolicy
	for _, c := range []struct {
		name   string
		policy rules.TaskPolicy
		run    *orchv1.TaskRun
		to     *orchv1.StateCreate
		facts  rules.TaskFacts
		status orchv1.SetStateStatus
		// Written is the name of the state that is written; empty when none is.
		written string
	}{
		{"plain: running", core, taskIn(pending), propose(running), running1, accept, "Running"},
		{"plain: completed", core, taskIn(running), propose(completed), running1, accept, "Completed"},
		{"plain: pending again", core, taskIn(pending), propose(pending), running1, accept, "Pending"},

		{"cache: hit", core, taskIn(pending), propose(running, proposalDetails(key)), fromCache, reject, "Cached"},
		{"cache: no key", core, taskIn(pending), propose(running), fromCache, accept, "Running"},
		{"cache: refreshed", core, taskIn(pending), propose(running, proposalDetails(&orchv1.StateDetails{CacheKey: new("k"), RefreshCache: new(true)})), fromCache, accept, "Running"},
		{"cache: miss", core, taskIn(pending), propose(running, proposalDetails(key)), running1, accept, "Running"},
		{
			"cache: even in a stopped flow", core, taskIn(pending), propose(running, proposalDetails(key)),
			rules.TaskFacts{FlowRun: flowIn(cancelling), Cached: cached},
			reject, "Cached",
		},
		{"cache: a key too long", core, taskIn(running), propose(completed, proposalDetails(&orchv1.StateDetails{CacheKey: new(string(make([]byte, 2001)))})), running1, reject, "Completed"},
		{"cache: the longest key", core, taskIn(running), propose(completed, proposalDetails(&orchv1.StateDetails{CacheKey: new(string(make([]byte, 2000)))})), running1, accept, "Completed"},

		{"terminal: to cancelling", core, taskIn(failed), propose(cancelling), running1, abort, ""},
		{"terminal: to paused", core, taskIn(completed), propose(paused), running1, abort, ""},
		{"terminal: to crashed", core, taskIn(crashed), propose(crashed), running1, abort, ""},
		{"terminal: completed with a result", core, taskIn(completed, withResult), propose(running), running1, reject, ""},
		{"terminal: completed with a result, and again", core, taskIn(completed, withResult), propose(completed), running1, reject, ""},
		{"terminal: completed without a result", core, taskIn(completed), propose(pending), running1, accept, "Pending"},
		{
			"terminal: the flow runs again", core, taskIn(failed), propose(running),
			rules.TaskFacts{FlowRun: runIn(running, func(r *orchv1.FlowRun) { r.RunCount = 1 })},
			accept, "Retrying",
		},
		{"terminal: runs again in the same attempt", core, taskIn(failed, ranTimes(2)), propose(running), running1, accept, "Running"},

		{"flow: none", core, taskIn(pending, alone), propose(running), rules.TaskFacts{}, accept, "Running"},
		{"flow: gone", core, taskIn(pending), propose(running), rules.TaskFacts{}, abort, ""},
		{"flow: gone, but not running", core, taskIn(running), propose(completed), rules.TaskFacts{}, accept, "Completed"},
		{"flow: without state", core, taskIn(pending), propose(running), rules.TaskFacts{FlowRun: &orchv1.FlowRun{}}, abort, ""},
		{"flow: pending", core, taskIn(pending), propose(running), rules.TaskFacts{FlowRun: flowIn(pending)}, abort, ""},
		{"flow: ended", core, taskIn(pending), propose(running), rules.TaskFacts{FlowRun: flowIn(completed)}, abort, ""},
		{"flow: paused", core, taskIn(pending), propose(running), rules.TaskFacts{FlowRun: flowIn(paused)}, reject, "NotReady"},
		{"flow: cancelled, but not running", core, taskIn(running), propose(cancelled), rules.TaskFacts{FlowRun: flowIn(cancelled)}, accept, "Cancelled"},

		{"wait", core, taskIn(scheduled, taskDetails(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Second) })), propose(running), running1, wait, ""},
		{"wait: the time has come", core, taskIn(scheduled, taskDetails(func(d *orchv1.StateDetails) { d.ScheduledTime = at(0) })), propose(running), running1, accept, "Running"},

		{"retry", core, taskIn(running, ranTimes(1), retries(1, nil)), propose(failed), running1, reject, "AwaitingRetry"},
		{"retry: none left", core, taskIn(running, ranTimes(2), retries(1, nil)), propose(failed), running1, accept, "Failed"},
		{"retry: none asked for", core, taskIn(running, ranTimes(1)), propose(failed), running1, accept, "Failed"},
		{
			"retry: not this failure", core, taskIn(running, ranTimes(1), retries(1, nil)),
			propose(failed, proposalDetails(&orchv1.StateDetails{Retriable: new(false)})), running1, accept, "Failed",
		},
		{
			"retry: this failure", core, taskIn(running, ranTimes(1), retries(1, nil)),
			propose(failed, proposalDetails(&orchv1.StateDetails{Retriable: new(true)})), running1, reject, "AwaitingRetry",
		},
		{"retry: crashes are not retried", core, taskIn(running, ranTimes(1), retries(9, nil)), propose(crashed), running1, accept, "Crashed"},

		{"rerun: after a failure", core, taskIn(scheduled, ranTimes(1), func(r *orchv1.TaskRun) { r.State.Name = new("AwaitingRetry") }), propose(running), running1, accept, "Retrying"},
		{"rerun: otherwise", core, taskIn(pending, ranTimes(1)), propose(running), running1, accept, "Rerunning"},

		{"background: taken by another", background, taskIn(pending, alone), propose(pending), rules.TaskFacts{}, abort, ""},
		{"background: running", background, taskIn(running, alone), propose(pending), rules.TaskFacts{}, abort, ""},
		{"background: pending", background, taskIn(scheduled, alone), propose(pending), rules.TaskFacts{}, accept, "Pending"},

		{"forced: anything", rules.MinimalTaskPolicy, taskIn(completed, withResult), propose(cancelling), rules.TaskFacts{}, accept, "Cancelling"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.run.GetState()
			got := judgeTask(c.policy, c.run, c.to, c.facts)
			answer := got.Result()
			require.Equal(t, c.status, answer.GetStatus(), answer.String())
			require.Equal(t, c.written != "", got.Written())
			if c.written == "" {
				require.Same(t, before, answer.GetState())
				return
			}
			require.Equal(t, c.written, answer.GetState().GetName())
			require.Same(t, got.Run.GetState(), answer.GetState())
			require.Equal(t, c.run.GetId(), answer.GetState().GetStateDetails().GetTaskRunId())
			require.Equal(t, c.run.FlowRunId, answer.GetState().GetStateDetails().FlowRunId)
		})
	}
}

func TestCachedStateIsTheRunsOwn(t *testing.T) {
	cached := &orchv1.State{Id: uuid.NewString(), Type: completed, Message: new("done"), Data: []byte(result), StateDetails: &orchv1.StateDetails{
		CacheKey: new("k"), TransitionId: new(uuid.NewString()), TaskRunId: new(uuid.NewString()),
	}}
	run := taskIn(pending)
	transition := uuid.NewString()
	got := judgeTask(rules.CoreTaskPolicy, run, propose(running, proposalDetails(&orchv1.StateDetails{CacheKey: new("k"), TransitionId: &transition})),
		rules.TaskFacts{FlowRun: flowIn(running), Cached: cached})
	state := got.Run.GetState()
	require.NotEqual(t, cached.GetId(), state.GetId())
	require.Equal(t, result, string(state.GetData()))
	require.Equal(t, "done", state.GetMessage())
	require.Equal(t, transition, state.GetStateDetails().GetTransitionId())
	require.Equal(t, run.GetId(), state.GetStateDetails().GetTaskRunId())
	require.Nil(t, state.GetStateDetails().Deferred, "as it was")
	require.False(t, got.Caches, "what came from the cache is there already")
	require.NotEqual(t, run.GetId(), cached.GetStateDetails().GetTaskRunId(), "the cached state is nobody's to change")
}

func TestCompletionIsCached(t *testing.T) {
	got := judgeTask(rules.CoreTaskPolicy, taskIn(running), propose(completed, proposalDetails(&orchv1.StateDetails{
		CacheKey: new("k"), CacheExpiration: at(time.Hour),
	})), rules.TaskFacts{})
	require.True(t, got.Caches)
	long := &orchv1.StateDetails{CacheKey: new(strings.Repeat("ü", rules.MaxCacheKey+1))}
	require.False(t, judgeTask(rules.CoreTaskPolicy, taskIn(running), propose(completed, proposalDetails(long)), rules.TaskFacts{}).Caches)
	entry := got.CacheEntry()
	require.Equal(t, "k", entry.GetCacheKey())
	require.Equal(t, got.Run.GetState().GetId(), entry.GetId())
	require.Equal(t, noon.Add(time.Hour), entry.GetExpiration().AsTime())
	require.False(t, judgeTask(rules.CoreTaskPolicy, taskIn(running), propose(completed), rules.TaskFacts{}).Caches)
}

func TestRetryDelays(t *testing.T) {
	whole := func(n int64) *orchv1.RetryDelay {
		return &orchv1.RetryDelay{Kind: &orchv1.RetryDelay_Integer{Integer: n}}
	}
	number := func(n float64) *orchv1.RetryDelay {
		return &orchv1.RetryDelay{Kind: &orchv1.RetryDelay_Number{Number: n}}
	}
	for _, c := range []struct {
		name    string
		delay   *orchv1.RetryDelay
		attempt int64
		want    time.Duration
	}{
		{"none", nil, 1, 0},
		{"whole", whole(3), 2, 3 * time.Second},
		{"number", number(0.25), 1, 250 * time.Millisecond},
		{"list: first", delays(1, 2, 4), 1, time.Second},
		{"list: second", delays(1, 2, 4), 2, 2 * time.Second},
		{"list: beyond its end", delays(1, 2, 4), 9, 4 * time.Second},
		{"list: before the first attempt", delays(1, 2, 4), 0, time.Second},
		{"list: empty", delays(), 1, 0},
		{"negative", number(-5), 1, 0},
		{"longer than time", number(1e300), 1, 100 * 365 * 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judgeTask(rules.CoreTaskPolicy, taskIn(running, ranTimes(c.attempt), retries(99, c.delay)), propose(failed), rules.TaskFacts{})
			require.Equal(t, noon.Add(c.want), got.Run.GetState().GetStateDetails().GetScheduledTime().AsTime())
		})
	}
}

// A spread delay stays near the delay: never above 1+factor times it, never below 0, longer for a larger chance.
func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.01, 5).Draw(t, "factor")
		chance := rapid.Float64Range(0, 0.999999).Draw(t, "chance")
		spread := func(chance float64) time.Duration {
			run := taskIn(running, ranTimes(1), retries(1, delays(100)), func(r *orchv1.TaskRun) { r.EmpiricalPolicy.RetryJitterFactor = &factor })
			got := judgeTask(rules.CoreTaskPolicy, run, propose(failed), rules.TaskFacts{Random: func() float64 { return chance }})
			return got.Run.GetState().GetStateDetails().GetScheduledTime().AsTime().Sub(noon)
		}
		delay := spread(chance)
		if high := time.Duration((1 + factor) * 100 * float64(time.Second)); delay < 0 || delay > high+time.Millisecond {
			t.Fatalf("%v is not between 0 and %v", delay, high)
		}
		if delay < spread(chance/2) {
			t.Fatalf("a larger chance made a shorter delay")
		}
	})
}

func TestFlowRunCountIsFollowed(t *testing.T) {
	flow := runIn(running, func(r *orchv1.FlowRun) { r.RunCount = 3 })
	got := judgeTask(rules.CoreTaskPolicy, taskIn(failed, ranTimes(4)), propose(running), rules.TaskFacts{FlowRun: flow})
	require.Equal(t, int64(3), got.Run.GetFlowRunRunCount())
	require.Equal(t, int64(1), got.Run.GetRunCount(), "its retries begin anew")
	gone := judgeTask(rules.CoreTaskPolicy, taskIn(pending), propose(running), rules.TaskFacts{})
	require.True(t, gone.MissingFlowRun())
}

func TestPausedFlowPausesItsTasks(t *testing.T) {
	flow := runIn(paused, details(func(d *orchv1.StateDetails) { d.PauseTimeout, d.PauseReschedule = at(time.Minute), true }))
	got := judgeTask(rules.CoreTaskPolicy, taskIn(completed, ranTimes(2)), propose(running), rules.TaskFacts{FlowRun: flow})
	d := got.Run.GetState().GetStateDetails()
	require.Equal(t, noon.Add(time.Minute), d.GetPauseTimeout().AsTime())
	require.True(t, d.GetPauseReschedule())
	require.Equal(t, int64(2), got.Run.GetRunCount(), "the count is reset only for a run that does run again")
}

func TestBackgroundRunKeepsItsParameters(t *testing.T) {
	id := uuid.NewString()
	run := taskIn(scheduled, taskDetails(func(d *orchv1.StateDetails) { d.TaskParametersId, d.ScheduledTime = &id, at(0) }))
	got := judgeTask(rules.BackgroundTaskPolicy, run, propose(pending), rules.TaskFacts{})
	require.Equal(t, id, got.Run.GetState().GetStateDetails().GetTaskParametersId())
	require.Equal(t, noon, got.Run.GetState().GetStateDetails().GetScheduledTime().AsTime())
}

// TestRandomTaskHistories drives task runs through random proposals and holds what must be true of every history.
func TestRandomTaskHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &orchv1.TaskRun{Id: uuid.NewString()}
		if rapid.Bool().Draw(t, "in a flow") {
			run.FlowRunId = new(uuid.NewString())
		}
		if rapid.Bool().Draw(t, "retries") {
			run.EmpiricalPolicy = &orchv1.TaskRunPolicy{Retries: new(rapid.Int64Range(0, 3).Draw(t, "n")), RetryDelay: delays(1, 2)}
		}
		now := noon
		var spent time.Duration
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10_000_000).Draw(t, "passed")) * time.Microsecond)
			policy := rapid.SampledFrom([]rules.TaskPolicy{rules.CoreTaskPolicy, rules.BackgroundTaskPolicy, rules.MinimalTaskPolicy}).Draw(t, "policy")
			facts := rules.TaskFacts{Random: func() float64 { return 0.5 }}
			if run.FlowRunId != nil {
				facts.FlowRun = flowIn(rapid.SampledFrom(types).Draw(t, "flow"))
			}
			before := proto.Clone(run).(*orchv1.TaskRun)
			tr := rules.ProposeTask(run, &orchv1.StateCreate{Type: rapid.SampledFrom(types).Draw(t, "to")}, facts, now, uuid.New)
			policy.Judge(tr)
			if !proto.Equal(before, run) {
				t.Fatalf("the judgement changed the run that it was given")
			}
			if !tr.Written() {
				if tr.Result().GetStatus() == accept {
					t.Fatalf("accepted and not written")
				}
				continue
			}
			state := tr.Run.GetState()
			if before.GetState().GetType() == running {
				spent += state.GetTimestamp().AsTime().Sub(before.GetState().GetTimestamp().AsTime())
			}
			run = tr.Run
			taskInvariants(t, before, run, spent)
		}
	})
}

func taskInvariants(t *rapid.T, before, after *orchv1.TaskRun, spent time.Duration) {
	state := after.GetState()
	if before.State != nil && !state.GetTimestamp().AsTime().After(before.GetState().GetTimestamp().AsTime()) {
		t.Fatalf("the history is out of order: %v then %v", before.GetState(), state)
	}
	if got := time.Duration(after.GetTotalRunTime() * float64(time.Second)); (got - spent).Abs() > time.Millisecond {
		t.Fatalf("ran for %v, counted %v", spent, got)
	}
	ended := rules.Terminal(state.GetType())
	if ended != (after.EndTime != nil) {
		t.Fatalf("%v and an end at %v", state.GetType(), after.GetEndTime())
	}
	if (ended || state.GetType() == running) && after.StartTime == nil {
		t.Fatalf("%v without a start", state.GetType())
	}
	if (state.GetType() == scheduled) != (after.NextScheduledStartTime != nil) {
		t.Fatalf("%v and a next start at %v", state.GetType(), after.GetNextScheduledStartTime())
	}
	if after.GetRunCount() > before.GetRunCount()+1 || (after.GetRunCount() > before.GetRunCount() && state.GetType() != running) {
		t.Fatalf("run count went from %d to %d with %v", before.GetRunCount(), after.GetRunCount(), state.GetType())
	}
	if after.ExpectedStartTime == nil || after.SortStart == nil {
		t.Fatalf("no expected start")
	}
}
