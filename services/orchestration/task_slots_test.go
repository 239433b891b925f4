package orchestration_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) tagLimit(tag string, slots int64) {
	d.t.Helper()
	call[*orchv1.ConcurrencyLimit](d, orchv1.ConcurrencyLimitService_CreateConcurrencyLimit_FullMethodName,
		&orchv1.CreateConcurrencyLimitRequest{ConcurrencyLimit: &orchv1.ConcurrencyLimitCreate{Tag: tag, ConcurrencyLimit: slots}})
}

// holders are the task runs that hold a slot of a tag, while nothing changes that: the two forms of the limit, which are
// read one after the other, must agree.
func (d *domain) holders(tag string) []string {
	d.t.Helper()
	held := d.held(tag)
	require.Equal(d.t, int64(len(held)), d.readLimit("tag:"+tag).GetActiveSlots())
	return held
}

// held are the task runs that hold a slot of a tag at a moment.
func (d *domain) held(tag string) []string {
	d.t.Helper()
	return call[*orchv1.ConcurrencyLimit](d, orchv1.ConcurrencyLimitService_ReadConcurrencyLimitByTag_FullMethodName,
		&orchv1.ReadConcurrencyLimitByTagRequest{Tag: tag}).GetActiveSlots()
}

func taggedWith(tags ...string) func(*orchv1.TaskRunCreate) {
	return func(c *orchv1.TaskRunCreate) { c.Tags = tags }
}

func TestTaskRunsTakeSlotsOfTheirTags(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.tagLimit("db", 1)
	d.tagLimit("big", 2)
	flowRun := d.runningFlow("f")
	first := d.task(flowRun, "1", taggedWith("db", "unlimited"))
	second := d.task(flowRun, "2", taggedWith("big", "db"))

	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(first, to(stRunning)).GetStatus())
	require.Equal(t, []string{first.GetId()}, d.holders("db"))
	waits := d.setTask(second, to(stRunning))
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_WAIT, waits.GetStatus())
	require.Contains(t, waits.GetDetails().GetWait().GetReason(), "db")
	require.Empty(t, d.holders("big"), "all of them or none")
	d.setTask(first, to(stRunning))
	require.Len(t, d.holders("db"), 1, "it has its slot")

	d.setTask(first, to(stCompleted))
	require.Empty(t, d.holders("db"), "the slot is free when the answer is there")
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(second, to(stRunning)).GetStatus())
	require.Equal(t, []string{second.GetId()}, d.holders("db"))
	require.Equal(t, []string{second.GetId()}, d.holders("big"))

	third := d.task(flowRun, "3", taggedWith("db"))
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_WAIT, d.setTask(third, to(stRunning)).GetStatus())
	require.EqualValues(t, 1, d.waiters("tag:db"))
	d.setTask(third, to(stateCancelled))
	require.Zero(t, d.waiters("tag:db"), "a run that ends waits no longer")

	call[*emptypb.Empty](d, orchv1.TaskRunService_DeleteTaskRun_FullMethodName, &orchv1.DeleteTaskRunRequest{Id: second.GetId()})
	eventually(t, func() bool { return len(d.held("db"))+len(d.held("big")) == 0 }, "what a deleted run held comes back")
	require.Empty(t, d.holders("db"))
	require.Empty(t, d.holders("big"))
}

func TestTaskRunsOfATagWithoutSlots(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.tagLimit("none", 0)
	run := d.task(d.runningFlow("f"), "1", taggedWith("none"))
	got := d.setTask(run, to(stRunning))
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, got.GetStatus())
	require.Contains(t, got.GetDetails().GetAbort().GetReason(), `"none"`)
	forced := call[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName, &orchv1.SetTaskRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(stRunning), Force: true},
	})
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, forced.GetStatus())
	require.Empty(t, d.holders("none"))
}

// Slots that a client acquired for a run in the older way are released when the run ends.
func TestSlotsThatClientsTookComeBack(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.tagLimit("db", 1)
	run := d.task(d.runningFlow("f"), "1", taggedWith("db"))
	call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitService_IncrementConcurrencyLimits_FullMethodName,
		&orchv1.IncrementConcurrencyLimitsRequest{Increment: &orchv1.ConcurrencyLimitsIncrement{Names: []string{"db"}, TaskRunId: run.GetId()}})
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(run, to(stRunning)).GetStatus(), "it has the slot already")
	require.Equal(t, []string{run.GetId()}, d.holders("db"))
	d.setTask(run, to(stFailed))
	require.Empty(t, d.holders("db"))
}

var slotRounds = flag.Int("slot-rounds", 3, "how many task runs each of 64 clients takes a slot for")

// Sixty-four clients run tasks of one tag, two of them sometimes the same, and end them in one way or another: there are never more runs running than
// slots, and in the end none is taken.
func TestNeverMoreTaskRunsThanSlots(t *testing.T) {
	t.Parallel()
	const slots, clients = 3, 64
	d := newDomain(t)
	d.tagLimit("db", slots)
	flowRun := d.runningFlow("f")
	var inside, most atomic.Int64
	client := func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 11))
		for round := range *slotRounds {
			run, _, err := try[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{
				TaskRun: &orchv1.TaskRunCreate{FlowRunId: new(flowRun.GetId()), TaskKey: "t", DynamicKey: fmt.Sprint(i, round), Tags: []string{"db"}},
			})
			if err != nil {
				return err
			}
			set := func(kind orchv1.StateType) (bool, error) {
				result, _, err := try[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
					&orchv1.SetTaskRunStateRequest{Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(kind)}})
				return result.GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, err
			}
			var other sync.WaitGroup
			if random.IntN(8) == 0 { // Two who want the same run at once.
				other.Go(func() { _, _ = set(stRunning) })
			}
			running, err := set(stRunning)
			if code, _ := status(err); err != nil && code != 503 {
				return err
			}
			if running {
				now := inside.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				if n := d.readLimit("tag:db").GetActiveSlots(); n > slots {
					return fmt.Errorf("%d slots of %d are taken", n, slots)
				}
				inside.Add(-1)
			}
			other.Wait()
			end := []orchv1.StateType{stCompleted, stFailed, stScheduled, orchv1.StateType_STATE_TYPE_CANCELLED}[random.IntN(4)]
			for {
				if _, err = set(end); err == nil {
					break
				}
				if code, _ := status(err); code != 503 {
					return err
				}
			}
		}
		return nil
	}
	ended := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { ended[i] = client(i) })
	}
	wg.Wait()
	for _, err := range ended {
		require.NoError(t, err)
	}
	require.LessOrEqual(t, most.Load(), int64(slots))
	require.Positive(t, most.Load())
	eventually(t, func() bool { return len(d.held("db")) == 0 }, "every slot comes back")
}
