package flowruns

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A client sends a request again if its response was lost, or was the 503 of a slow database. The second request has the same
// transition id. It gets the decision of the first one, even if that wrote another state than the proposed one.
func TestARepeatedRequestGetsTheRejectionOfTheFirst(t *testing.T) {
	t.Parallel()
	const agent = "prefect/3.9.1 (API 0.8.4)"
	cancelNew, enqueue := orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE
	// full returns a run of a deployment without a free slot, and a function that frees it.
	full := func(w *world, strategy orchv1.ConcurrencyLimitStrategy) (run *orchv1.FlowRun, free func()) {
		deployment, limit := w.limited(1, strategy)
		holder, run := w.runOf(deployment, w.clock.Now()), w.runOf(deployment, w.clock.Now())
		_, err := w.propose(holder, pending)
		require.NoError(w, err)
		return run, func() {
			_, err := w.propose(holder, cancelled)
			require.NoError(w, err)
			require.Zero(w, w.taken(limit))
		}
	}
	for name, c := range map[string]struct {
		run      func(w *world) (run *orchv1.FlowRun, between func())
		proposed orchv1.StateType
		written  string
	}{
		"no slot, cancelled": {func(w *world) (*orchv1.FlowRun, func()) { return full(w, cancelNew) }, pending, "Cancelled"},
		"no slot, waits":     {func(w *world) (*orchv1.FlowRun, func()) { return full(w, enqueue) }, pending, "AwaitingConcurrencySlot"},
		"failed, to retry": {func(w *world) (*orchv1.FlowRun, func()) {
			run := w.run(func(c *orchv1.FlowRunCreate) {
				c.EmpiricalPolicy = &orchv1.FlowRunPolicy{Retries: new(int64(1)), RetryDelay: new(int64(60))}
			})
			w.set(run, &orchv1.StateCreate{Type: running})
			return run, func() {}
		}, failed, "AwaitingRetry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run, between := c.run(w)
			proposal := &orchv1.StateCreate{Type: c.proposed, StateDetails: &orchv1.StateDetails{TransitionId: new(uuid.NewString())}}
			first, err := w.proposeState(agent, run, proposal)
			require.NoError(t, err)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, first.GetStatus())
			require.Equal(t, c.written, first.GetState().GetName())
			between()

			again, err := w.proposeState(agent, run, proposal)
			require.NoError(t, err)
			require.Equal(t, first.GetStatus(), again.GetStatus())
			require.True(t, proto.Equal(first.GetState(), again.GetState()), "%v", again)
			require.True(t, proto.Equal(first.GetState(), w.state(run)))

			w.set(run, &orchv1.StateCreate{Type: scheduled})
			proposal.Type = running
			later, err := w.proposeState(agent, run, proposal)
			require.NoError(t, err)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, later.GetStatus(), "the state of the rejection is no longer the run's")
		})
	}
}
