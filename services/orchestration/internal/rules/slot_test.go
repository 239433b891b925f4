package rules_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientversion"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

func TestClientVersions(t *testing.T) {
	t.Parallel()
	run := runIn(scheduled)
	for agent, want := range map[string]rules.SlotNeed{
		"": rules.TakeSlot, "curl/8": rules.TakeSlot, "prefect/3.8.8 (API 0.8.4)": rules.TakeSlot,
		"prefect/3.0.0rc19 (API 0.8.4)": rules.TakeSlot, "prefect/3.0.0rc20 (API 0.8.4)": rules.NoSlot,
		"prefect/3.0.3 (API 0.8.4)": rules.NoSlot, "prefect/3.0.4 (API 0.8.4)": rules.TakeSlot,
	} {
		require.Equal(t, want, rules.CoreFlowPolicy.NeedsSlot(run, propose(pending), clientversion.New(agent, "")), agent)
	}
	require.Equal(t, rules.NoSlot, rules.MinimalFlowPolicy.NeedsSlot(run, propose(pending), clientversion.Client{}))
	require.Equal(t, rules.NoSlot, rules.CoreFlowPolicy.NeedsSlot(runIn(scheduled, withoutDeployment), propose(pending), clientversion.Client{}))
	require.Equal(t, rules.LookForSlot, rules.MarkLatePolicy.NeedsSlot(run, propose(scheduled, proposalNamed("Late")), clientversion.Client{}))
	leased := runIn(pending, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = new(uuid.NewString()) }))
	for agent, want := range map[string]rules.SlotNeed{
		"": rules.NoSlot, "prefect/3.4.10 (API 0.8.4)": rules.NoSlot, "prefect/3.4.11 (API 0.8.4)": rules.RenewSlot,
		"prefect/3.4.11+3.gabc (API 0.8.4)": rules.RenewSlot, "prefect/3.4.11.dev1 (API 0.8.4)": rules.NoSlot,
	} {
		require.Equal(t, want, rules.CoreFlowPolicy.NeedsSlot(leased, propose(running), clientversion.New(agent, "")), agent)
	}
}

func judged(policy rules.Policy, run *orchv1.FlowRun, proposal *orchv1.StateCreate, edit func(*rules.Transition)) *rules.Transition {
	t := rules.Propose(run, proposal, noon, uuid.New)
	t.Need = policy.NeedsSlot(run, proposal, t.Client)
	edit(t)
	policy.Judge(t)
	return t
}

func TestLateRunsOfFullDeployments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slot rules.Slot
		want orchv1.StateType
	}{
		"no limit":              {rules.Slot{CancelNew: true}, scheduled},
		"full":                  {rules.Slot{Limit: new(int64(1)), CancelNew: true}, cancelled},
		"full, but they wait":   {rules.Slot{Limit: new(int64(1))}, scheduled},
		"there are slots":       {rules.Slot{Limit: new(int64(1)), CancelNew: true, Free: true}, scheduled},
		"deployment is unknown": {rules.Slot{Missing: true}, scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(rules.MarkLatePolicy, runIn(scheduled), propose(scheduled, proposalNamed("Late")), func(t *rules.Transition) { t.Slot = c.slot })
			require.Equal(t, c.want, got.Run.GetState().GetType(), name)
		})
	}
}

// A slot that was taken is not used where another rule decides.
func TestSlotIsNotUsedInVain(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	take := func(t *rules.Transition) { t.Slot = rules.Slot{Limit: new(int64(1)), Lease: lease} }
	require.Equal(t, lease, judged(rules.CoreFlowPolicy, runIn(scheduled), propose(pending), take).Use.Taken)
	transition := uuid.NewString()
	repeated := runIn(scheduled, details(func(d *orchv1.StateDetails) { d.TransitionId = &transition }))
	got := judged(rules.CoreFlowPolicy, repeated, propose(pending, func(p *orchv1.StateCreate) {
		p.StateDetails = &orchv1.StateDetails{TransitionId: &transition}
	}), take)
	require.Empty(t, got.Use.Taken)
}

func TestSlotsAreReleased(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	leased := details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = &lease })
	retries := func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries = new(int64(2)) }
	for name, c := range map[string]struct {
		run      *orchv1.FlowRun
		proposal *orchv1.StateCreate
		released bool
	}{
		"ended":                      {runIn(running, leased), propose(completed), true},
		"paused":                     {runIn(running, leased), propose(paused), true},
		"goes on":                    {runIn(pending, leased), propose(running), false},
		"is being cancelled":         {runIn(running, leased), propose(cancelling), false},
		"cancelled":                  {runIn(cancelling, leased), propose(cancelled), true},
		"retries in its process":     {runIn(running, leased, retries), propose(failed), false},
		"is scheduled to be retried": {runIn(running, leased), propose(scheduled, proposalNamed("AwaitingRetry")), true},
		"held none":                  {runIn(scheduled, leased), propose(cancelled), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(rules.CoreFlowPolicy, c.run, c.proposal, func(*rules.Transition) {})
			require.Equal(t, c.released, got.Use.Released, name)
			if c.released {
				require.Equal(t, lease, got.Use.ReleasedLease, name)
			}
		})
	}
	forced := judged(rules.MinimalFlowPolicy, runIn(running, leased), propose(crashed), func(*rules.Transition) {})
	require.True(t, forced.Use.Released)
}
