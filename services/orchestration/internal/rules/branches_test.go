package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientversion"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// worn gives a run the policy of one after pauses and retries.
func worn(r *orchv1.FlowRun) {
	r.EmpiricalPolicy.Resuming = new(true)
	r.EmpiricalPolicy.PauseKeys = &orchv1.StringSet{Values: []string{"1"}}
	r.EmpiricalPolicy.RetryType = orchv1.RetryType_RETRY_TYPE_IN_PROCESS.Enum()
}

// A run that ended and runs again forgets its pauses; one that ends in another way does not.
func TestRunsThatRunAgainBeginAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to    orchv1.StateType
		force bool
		anew  bool
		retry *orchv1.RetryType
	}{
		{scheduled, false, true, orchv1.RetryType_RETRY_TYPE_RESCHEDULE.Enum()},
		{pending, false, true, nil},
		{running, false, true, nil},
		{completed, false, false, orchv1.RetryType_RETRY_TYPE_IN_PROCESS.Enum()},
		{running, true, false, orchv1.RetryType_RETRY_TYPE_IN_PROCESS.Enum()},
	} {
		t.Run(fmt.Sprint(c.to), func(t *testing.T) {
			got := judge(runIn(failed, worn), propose(c.to), c.force)
			require.True(t, got.Written(), c.to)
			policy := got.Run.GetEmpiricalPolicy()
			require.Equal(t, c.anew, len(policy.GetPauseKeys().GetValues()) == 0, c.to)
			require.Equal(t, c.retry, policy.RetryType, c.to)
			// A run that runs or has ended does not resume any longer, whatever the rules say.
			require.False(t, policy.GetResuming(), c.to)
		})
	}
}

func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run    *orchv1.FlowRun
		to     *orchv1.StateCreate
		force  bool
		status orchv1.SetStateStatus
	}{
		"another result":             {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(result)}, false, accept},
		"an end without one":         {runIn(completed, withData(result)), propose(failed), false, accept},
		"none was there":             {runIn(completed), propose(completed), false, accept},
		"data that is no object":     {runIn(completed, withData(`[1]`)), propose(running), false, accept},
		"null is none":               {runIn(completed, withData(`null`)), propose(running), false, accept},
		"scheduled again":            {runIn(completed, withData(result)), propose(scheduled), false, reject},
		"forced: another result":     {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(result)}, true, accept},
		"forced: runs again":         {runIn(completed, withData(result)), propose(running), true, accept},
		"forced: nothing for result": {runIn(completed, withData(result)), propose(completed), true, reject},
		"a number for a result":      {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(`1`)}, false, reject},
		"forced: a number for it":    {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(`1`)}, true, reject},
		"forced: a list for it":      {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(`[1]`)}, true, reject},
		"forced: an unwritten one":   {runIn(completed, withData(result)), &orchv1.StateCreate{Type: completed, Data: []byte(`{"type":"unpersisted"}`)}, true, reject},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.status, judge(c.run, c.to, c.force).Result().GetStatus(), name)
		})
	}
}

// A worker that reports how a pending run goes on keeps what the run remembers.
func TestReportsOfPendingRunsKeepTheirDetails(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	run := runIn(pending, details(func(d *orchv1.StateDetails) { d.ScheduledTime, d.DeploymentConcurrencyLeaseId = at(-time.Hour), &lease }))
	got := judge(run, propose(pending, proposalNamed("Submitting"), proposalDetails(&orchv1.StateDetails{
		ScheduledTime: at(time.Hour), DeploymentConcurrencyLeaseId: new(uuid.NewString()),
	})), false)
	d := got.Run.GetState().GetStateDetails()
	require.Equal(t, at(-time.Hour).AsTime(), d.GetScheduledTime().AsTime())
	require.Equal(t, lease, d.GetDeploymentConcurrencyLeaseId())
}

// A lease that a client names itself is not replaced by the one before.
func TestNamedLeaseIsKept(t *testing.T) {
	t.Parallel()
	own := uuid.NewString()
	run := runIn(running, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = new(uuid.NewString()) }))
	got := judge(run, propose(cancelling, proposalDetails(&orchv1.StateDetails{DeploymentConcurrencyLeaseId: &own})), false)
	require.Equal(t, own, got.Run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
}

func TestPausesThatCannotBe(t *testing.T) {
	t.Parallel()
	timedOut := details(func(d *orchv1.StateDetails) { d.PauseTimeout = at(-time.Second) })
	alone := func(r *orchv1.FlowRun) { r.DeploymentId = nil }
	suspended := details(func(d *orchv1.StateDetails) { d.PauseReschedule = true })
	for name, c := range map[string]struct {
		run     *orchv1.FlowRun
		to      *orchv1.StateCreate
		status  orchv1.SetStateStatus
		written orchv1.StateType
	}{
		"too late: scheduled":           {runIn(paused, timedOut), propose(scheduled), reject, failed},
		"too late: ended":               {runIn(paused, timedOut), propose(completed), reject, failed},
		"too late: cancelled":           {runIn(paused, timedOut), propose(cancelling), accept, cancelling},
		"ended in time":                 {runIn(paused), propose(completed), accept, completed},
		"paused again":                  {runIn(paused), propose(paused), reject, 0},
		"suspended without deployment":  {runIn(paused, suspended, alone), propose(running), reject, 0},
		"no deployment, but no suspend": {runIn(paused, alone), propose(running), accept, running},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(c.run, c.to, false)
			require.Equal(t, c.status, got.Result().GetStatus(), name)
			if c.written != 0 {
				require.Equal(t, c.written, got.Run.GetState().GetType(), name)
			} else {
				require.False(t, got.Written(), name)
			}
		})
	}
	got := judge(runIn(running), propose(paused), false)
	require.Nil(t, got.Run.GetState().GetStateDetails().PauseKey, "nobody named it")
	keys := got.Run.GetEmpiricalPolicy().GetPauseKeys().GetValues()
	require.Len(t, keys, 1)
	_, err := uuid.Parse(keys[0])
	require.NoError(t, err, "a pause without a key is like no other")
}

const newest, outdated = "prefect/3.8.8 (API 0.8.4)", "prefect/3.4.10 (API 0.8.4)"

func TestSlotsOfPendingRuns(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	for name, c := range map[string]struct {
		slot    rules.Slot
		agent   string
		status  orchv1.SetStateStatus
		written string
		uses    string
	}{
		"no deployment of that id": {rules.Slot{Missing: true}, newest, abort, "", ""},
		"no limit":                 {rules.Slot{}, newest, accept, "Pending", ""},
		"a limit of 0":             {rules.Slot{Limit: new(int64(0))}, newest, abort, "", ""},
		"a limit of 0, and cancel": {rules.Slot{Limit: new(int64(0)), CancelNew: true}, newest, abort, "", ""},
		"a slot":                   {rules.Slot{Limit: new(int64(2)), Lease: lease}, newest, accept, "Pending", lease},
		"none":                     {rules.Slot{Limit: new(int64(2))}, newest, reject, "AwaitingConcurrencySlot", ""},
		"none, and cancel":         {rules.Slot{Limit: new(int64(2)), CancelNew: true}, newest, reject, "Cancelled", ""},
		"the client takes it":      {rules.Slot{Limit: new(int64(2))}, "prefect/3.0.2 (API 0.8.4)", accept, "Pending", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run, proposal := runIn(scheduled), propose(pending)
			run.Rank = at(-time.Hour)
			tr := rules.Propose(run, proposal, noon, uuid.New)
			tr.Client = clientversion.New(c.agent, "")
			tr.Need, tr.Slot = rules.CoreFlowPolicy.NeedsSlot(run, proposal, tr.Client), c.slot
			rules.CoreFlowPolicy.Judge(tr)
			require.Equal(t, c.status, tr.Result().GetStatus(), name)
			require.Equal(t, c.uses, tr.Use.Taken, name)
			if c.written == "" {
				require.False(t, tr.Written(), name)
				return
			}
			require.Equal(t, c.written, tr.Run.GetState().GetName(), name)
			require.Equal(t, c.uses, tr.Run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId(), name)
			if c.written == "AwaitingConcurrencySlot" {
				require.Equal(t, at(30*time.Second).AsTime(), tr.Run.GetNextScheduledStartTime().AsTime())
				require.Equal(t, at(-time.Hour).AsTime(), tr.Run.GetRank().AsTime())
			} else {
				require.Nil(t, tr.Run.Rank)
			}
		})
	}
}

func TestSlotsOfRunsThatBegin(t *testing.T) {
	t.Parallel()
	old, fresh := uuid.NewString(), uuid.NewString()
	for name, c := range map[string]struct {
		agent string
		slot  rules.Slot
		to    orchv1.StateType
		// The state that is written, the lease in it, the slot that was taken, and the lease that ends while its slot stays.
		written           orchv1.StateType
		has, taken, keeps string
	}{
		"renewed":                     {newest, rules.Slot{Limit: new(int64(1)), Renewed: true}, running, running, old, "", ""},
		"gone, and another":           {newest, rules.Slot{Limit: new(int64(1)), Lease: fresh}, running, running, fresh, fresh, ""},
		"gone, and none":              {newest, rules.Slot{Limit: new(int64(1))}, running, cancelled, "", "", ""},
		"the limit is gone":           {newest, rules.Slot{}, running, running, old, "", ""},
		"the deployment is gone":      {newest, rules.Slot{Missing: true}, running, running, old, "", ""},
		"a client that cannot renew":  {outdated, rules.Slot{}, running, running, old, "", old},
		"a client of no version":      {"", rules.Slot{}, running, running, old, "", old},
		"it is cancelled":             {newest, rules.Slot{}, cancelling, cancelling, old, "", ""},
		"it is cancelled by old ones": {outdated, rules.Slot{}, cancelling, cancelling, old, "", old},
	} {
		t.Run(name, func(t *testing.T) {
			run, proposal := runIn(pending, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = &old })), propose(c.to)
			tr := rules.Propose(run, proposal, noon, uuid.New)
			tr.Client = clientversion.New(c.agent, "")
			tr.Need, tr.Slot = rules.CoreFlowPolicy.NeedsSlot(run, proposal, tr.Client), c.slot
			rules.CoreFlowPolicy.Judge(tr)
			require.Equal(t, c.written, tr.Run.GetState().GetType(), name)
			require.Equal(t, c.taken, tr.Use.Taken, name)
			require.Equal(t, c.keeps, tr.Use.Kept, name)
			if c.written != cancelled {
				require.Equal(t, c.has, tr.Run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId(), name)
				require.False(t, tr.Use.Released, name)
			} else {
				require.True(t, tr.Use.Released, "%s: it leaves", name)
			}
		})
	}
}

// A retry carries the lease of the run on: it keeps its slot while it waits.
func TestRetryKeepsTheLease(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	run := runIn(running, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = &lease }),
		func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries, r.RunCount = new(int64(1)), 1 })
	got := judge(run, propose(failed), false)
	require.Equal(t, "AwaitingRetry", got.Run.GetState().GetName())
	require.Equal(t, lease, got.Run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
	require.False(t, got.Use.Released)
	none := judge(runIn(running, worn), propose(failed), false)
	require.Nil(t, none.Run.GetEmpiricalPolicy().RetryType, "no attempt is left")
}

// Both kinds of judgement of background task runs end like those of others where no flow run stands behind them.
func TestBackgroundRulesAreThoseOfTasks(t *testing.T) {
	t.Parallel()
	alone := func(r *orchv1.TaskRun) { r.FlowRunId = nil }
	for name, c := range map[string]struct {
		run     *orchv1.TaskRun
		to      *orchv1.StateCreate
		facts   rules.TaskFacts
		status  orchv1.SetStateStatus
		written string
	}{
		"from the cache": {
			taskIn(pending, alone), propose(running, proposalDetails(&orchv1.StateDetails{CacheKey: new("k")})),
			rules.TaskFacts{Cached: &orchv1.State{Type: completed, StateDetails: &orchv1.StateDetails{}}},
			reject, "Cached",
		},
		"retried":        {taskIn(running, alone, ranTimes(1), retries(1, nil)), propose(failed), rules.TaskFacts{}, reject, "AwaitingRetry"},
		"again":          {taskIn(pending, alone, ranTimes(1)), propose(running), rules.TaskFacts{}, accept, "Rerunning"},
		"ended":          {taskIn(failed, alone), propose(cancelling), rules.TaskFacts{}, abort, ""},
		"waits":          {taskIn(scheduled, alone, taskDetails(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Second) })), propose(running), rules.TaskFacts{}, wait, ""},
		"a key too long": {taskIn(running, alone), propose(completed, proposalDetails(&orchv1.StateDetails{CacheKey: new(string(make([]byte, 2001)))})), rules.TaskFacts{}, reject, "Completed"},
		"a report":       {taskIn(pending, alone), propose(pending, proposalNamed("Submitting")), rules.TaskFacts{}, accept, "Submitting"},
		"was cancelled":  {taskIn(cancelled, alone), propose(pending), rules.TaskFacts{}, abort, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := judgeTask(rules.BackgroundTaskPolicy, c.run, c.to, c.facts)
			require.Equal(t, c.status, got.Result().GetStatus(), name)
			require.Equal(t, c.written != "", got.Written(), name)
			if c.written != "" {
				require.Equal(t, c.written, got.Run.GetState().GetName(), name)
			}
		})
	}
}
