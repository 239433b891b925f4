package orchestration_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// raceRuns is how many runs are raced for; the more, the longer.
var raceRuns = flag.Int("race-runs", 10, "the number of runs that 64 writers race for")

// attempt is one answered set_state, with the moments of its request and its answer by a clock that all writers share.
type attempt struct {
	state      string
	begin, end int64
}

// raced is a run that writers race for: how a state is proposed, what its history is, and what it shows of itself.
type raced struct {
	set     func(orchv1.StateType) (*orchv1.OrchestrationResult, error)
	states  func() []*orchv1.State
	current func() (state string, runCount int64)
}

// Whatever 64 writers do to one run at once: each accepted state is in the history exactly once, and nothing else is.
// The order of the history is a possible sequential order of the requests.
func TestHistoryIsLinearizable(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("race")
	for range *raceRuns {
		run := d.run(flow)
		race(t, raced{
			set: func(kind orchv1.StateType) (*orchv1.OrchestrationResult, error) {
				result, _, err := try[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
					Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}, Force: true},
				})
				return result, err
			},
			states: func() []*orchv1.State {
				return call[*orchv1.StateList](d, orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName,
					&orchv1.ReadFlowRunStatesRequest{FlowRunId: run.GetId()}).GetStates()
			},
			current: func() (string, int64) {
				now := d.readRun(run.GetId())
				return now.GetStateId(), now.GetRunCount()
			},
		})
	}
}

// The same for task runs, which hold slots besides.
func TestHistoryOfTaskRunsIsLinearizable(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.tagLimit("db", 1)
	flowRun := d.runningFlow("race")
	for i := range *raceRuns {
		run := d.task(flowRun, fmt.Sprint(i), taggedWith("db"))
		race(t, raced{
			set: func(kind orchv1.StateType) (*orchv1.OrchestrationResult, error) {
				result, _, err := try[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName, &orchv1.SetTaskRunStateRequest{
					Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(kind), Force: true},
				})
				return result, err
			},
			states: func() []*orchv1.State { return d.taskStates(run.GetId()) },
			current: func() (string, int64) {
				now := d.readTask(run.GetId())
				return now.GetStateId(), now.GetRunCount()
			},
		})
	}
}

func race(t *testing.T, run raced) {
	t.Helper()
	kinds := []orchv1.StateType{running, completed, pending, scheduled, paused}
	var ticks atomic.Int64
	var mu sync.Mutex
	accepted := map[string]attempt{}
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			a := attempt{begin: ticks.Add(1)}
			result, err := run.set(kinds[i%len(kinds)])
			a.end = ticks.Add(1)
			if err != nil { // Lost every time, and the response says so.
				return
			}
			mu.Lock()
			defer mu.Unlock()
			a.state = result.GetState().GetId()
			accepted[a.state] = a
		})
	}
	group.Wait()
	states := run.states()
	state, runCount := run.current()
	require.NotEmpty(t, accepted)
	require.Len(t, states, len(accepted)+1, "one state for each winner, and the first one")
	require.Equal(t, states[len(states)-1].GetId(), state)
	latest := int64(0) // The latest beginning among the states so far.
	var ran int64
	for i, state := range states[1:] {
		require.True(t, state.GetTimestamp().AsTime().After(states[i].GetTimestamp().AsTime()))
		a, ok := accepted[state.GetId()]
		require.True(t, ok, "a state that no response has")
		require.Greater(t, a.end, latest, "it was answered before one ahead of it was asked for")
		latest = max(latest, a.begin)
		if state.GetType() == running {
			ran++
		}
	}
	require.Equal(t, ran, runCount, "each running state counts once")
}
