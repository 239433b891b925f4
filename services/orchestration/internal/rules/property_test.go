package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

var types = []orchv1.StateType{scheduled, pending, running, completed, failed, cancelled, crashed, paused, cancelling}

// TestRandomHistories drives runs through random proposals and holds what must be true of every history.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &orchv1.FlowRun{Id: uuid.NewString(), EmpiricalPolicy: &orchv1.FlowRunPolicy{}}
		if rapid.Bool().Draw(t, "deployment") {
			run.DeploymentId = new(uuid.NewString())
		}
		if rapid.Bool().Draw(t, "retries") {
			run.EmpiricalPolicy.Retries = new(rapid.Int64Range(0, 3).Draw(t, "n"))
			run.EmpiricalPolicy.RetryDelay = new(rapid.Int64Range(0, 5).Draw(t, "delay"))
		}
		now := noon
		var spent time.Duration
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10_000_000).Draw(t, "passed")) * time.Microsecond)
			kind := rapid.SampledFrom(types).Draw(t, "to")
			policy := rules.CoreFlowPolicy
			if run.State == nil || rapid.IntRange(0, 9).Draw(t, "force") == 0 {
				policy = rules.MinimalFlowPolicy
			}
			before := proto.Clone(run).(*orchv1.FlowRun)
			tr := rules.Propose(run, &orchv1.StateCreate{Type: kind}, now, uuid.New)
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
			if before.GetState().GetType() == running {
				spent += tr.Run.GetState().GetTimestamp().AsTime().Sub(before.GetState().GetTimestamp().AsTime())
			}
			run = tr.Run
			invariants(t, before, run, spent)
		}
	})
}

func invariants(t *rapid.T, before, after *orchv1.FlowRun, spent time.Duration) {
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
	if before.StartTime != nil && !proto.Equal(before.StartTime, after.StartTime) {
		t.Fatalf("the start moved")
	}
	if (state.GetType() == scheduled) != (after.NextScheduledStartTime != nil) {
		t.Fatalf("%v and a next start at %v", state.GetType(), after.GetNextScheduledStartTime())
	}
	if n := after.GetRunCount() - before.GetRunCount(); n < 0 || n > 1 || (n == 1 && state.GetType() != running) {
		t.Fatalf("run count went from %d to %d with %v", before.GetRunCount(), after.GetRunCount(), state.GetType())
	}
	if after.ExpectedStartTime == nil || after.SortStart == nil {
		t.Fatalf("no expected start")
	}
	keys := after.GetEmpiricalPolicy().GetPauseKeys().GetValues()
	if len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(keys) {
		t.Fatalf("a pause key fired twice: %v", keys)
	}
	if state.GetStateDetails().GetFlowRunId() != after.GetId() {
		t.Fatalf("the state does not name its run")
	}
}

// TestClocksThatStepBack keeps histories in order when the clock is not.
func TestClocksThatStepBack(t *testing.T) {
	run := runIn(running)
	run.State.Timestamp = timestamppb.New(noon.Add(time.Hour))
	tr := judge(run, propose(completed), false)
	if !tr.Run.GetState().GetTimestamp().AsTime().After(run.GetState().GetTimestamp().AsTime()) {
		t.Fatal("the history is out of order")
	}
}
