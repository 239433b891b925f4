package rules_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientversion"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// apis are the API versions that clients may state; the empty one states none.
var apis = []string{"", "0.8.0", "0.8.2", "0.8.3", "0.8.4", "0.9.0"}

// tracked lists those whose clients expect the server to track pauses.
var tracked = map[string]bool{"": true, "0.8.4": true, "0.9.0": true}

func judgedFor(api string, policy rules.Policy, run *orchv1.FlowRun, to orchv1.StateType) *rules.Transition {
	return judged(policy, run, propose(to), func(t *rules.Transition) { t.Client = clientversion.New("", api) })
}

// untouched is the policy that worn gives a run.
func untouched(t *testing.T, policy *orchv1.FlowRunPolicy, name string) {
	t.Helper()
	require.True(t, policy.GetResuming(), name)
	require.Equal(t, []string{"1"}, policy.GetPauseKeys().GetValues(), name)
	require.Equal(t, orchv1.RetryType_RETRY_TYPE_IN_PROCESS, policy.GetRetryType(), name)
}

func TestFailedRunIsRetriedByClientVersion(t *testing.T) {
	t.Parallel()
	for _, api := range apis {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			attempt := func(runCount int64) *rules.Transition {
				run := runIn(running, func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries, r.RunCount = new(int64(1)), runCount })
				return judgedFor(api, rules.CoreFlowPolicy, run, failed)
			}
			got := attempt(1)
			require.Equal(t, "AwaitingRetry", got.Run.GetState().GetName())
			require.Equal(t, api == "0.8.0" || api == "0.8.2", got.RetriesTasks)
			require.Equal(t, tracked[api], got.Run.GetEmpiricalPolicy().RetryType != nil)
			require.False(t, attempt(2).RetriesTasks, "no attempt is left")
		})
	}
}

func TestEndedRunStartsAgainByClientVersion(t *testing.T) {
	t.Parallel()
	for _, api := range apis {
		for _, to := range []orchv1.StateType{scheduled, pending, running} {
			policy := judgedFor(api, rules.CoreFlowPolicy, runIn(failed, worn), to).Run.GetEmpiricalPolicy()
			if !tracked[api] {
				untouched(t, policy, api)
				continue
			}
			require.False(t, policy.GetResuming(), api)
			require.Empty(t, policy.GetPauseKeys().GetValues(), api)
			require.Equal(t, to == scheduled, policy.RetryType != nil, api)
		}
	}
}

func TestPausedRunIsScheduledByClientVersion(t *testing.T) {
	t.Parallel()
	passed := func(r *orchv1.FlowRun) { r.EmpiricalPolicy.PauseKeys = &orchv1.StringSet{Values: []string{"1"}} }
	suspended := details(func(d *orchv1.StateDetails) { d.PauseReschedule = true })
	for _, api := range apis {
		anew := judgedFor(api, rules.CoreFlowPolicy, runIn(paused, passed), scheduled).Run.GetEmpiricalPolicy()
		require.Equal(t, !tracked[api], anew.GetResuming(), api)
		require.Equal(t, tracked[api], len(anew.GetPauseKeys().GetValues()) == 0, api)
		require.Equal(t, tracked[api], anew.GetRetryType() == orchv1.RetryType_RETRY_TYPE_RESCHEDULE, api)
		for name, got := range map[string]*rules.Transition{
			"to running":  judgedFor(api, rules.CoreFlowPolicy, runIn(paused, passed), running),
			"a suspended": judgedFor(api, rules.CoreFlowPolicy, runIn(paused, passed, suspended), scheduled),
			"cancelling":  judgedFor(api, rules.CoreFlowPolicy, runIn(paused, passed, withPID), cancelling),
		} {
			policy := got.Run.GetEmpiricalPolicy()
			require.True(t, policy.GetResuming(), "%s %s", name, api)
			require.Equal(t, []string{"1"}, policy.GetPauseKeys().GetValues(), "%s %s", name, api)
			require.Nil(t, policy.RetryType, "%s %s", name, api)
		}
	}
}

func withPID(r *orchv1.FlowRun) { r.InfrastructurePid = new("pid") }

func TestResumedRunCountsByClientVersion(t *testing.T) {
	t.Parallel()
	for _, policy := range []rules.Policy{rules.CoreFlowPolicy, rules.MinimalFlowPolicy} {
		for _, api := range apis {
			resuming := func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Resuming, r.RunCount = new(true), 1 }
			started := judgedFor(api, policy, runIn(pending, resuming), running).Run
			want := int64(2)
			if tracked[api] {
				want = 1
			}
			require.Equal(t, want, started.GetRunCount(), api)
			require.Equal(t, !tracked[api], started.GetEmpiricalPolicy().GetResuming(), api)
			ended := judgedFor(api, policy, runIn(running, resuming), completed).Run
			require.Equal(t, !tracked[api], ended.GetEmpiricalPolicy().GetResuming(), api)
		}
	}
}

func TestClientsThatAcquireSlotsGetNone(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]rules.SlotNeed{
		"prefect/3.0.0rc20 (API 0.8.4)": rules.NoSlot, "prefect/3.0.3 (API 0.8.4)": rules.NoSlot,
		"prefect/3.0.0rc21 (API 0.8.4)": rules.TakeSlot, "prefect/3.0.1.post1 (API 0.8.4)": rules.TakeSlot, "prefect/3.0.3zz (API 0.8.4)": rules.TakeSlot,
	} {
		require.Equal(t, want, rules.CoreFlowPolicy.NeedsSlot(runIn(scheduled), propose(pending), clientversion.New(agent, "")), agent)
	}
}

func TestLeaseOfAForcedStartIsKept(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	run := runIn(pending, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = &lease }))
	require.Empty(t, judgedFor("", rules.MinimalFlowPolicy, run, running).Use.Kept)
	require.Equal(t, lease, judgedFor("", rules.CoreFlowPolicy, run, running).Use.Kept)
}
