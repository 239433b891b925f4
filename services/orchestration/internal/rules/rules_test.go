package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	scheduled  = orchv1.StateType_STATE_TYPE_SCHEDULED
	pending    = orchv1.StateType_STATE_TYPE_PENDING
	running    = orchv1.StateType_STATE_TYPE_RUNNING
	completed  = orchv1.StateType_STATE_TYPE_COMPLETED
	failed     = orchv1.StateType_STATE_TYPE_FAILED
	cancelled  = orchv1.StateType_STATE_TYPE_CANCELLED
	crashed    = orchv1.StateType_STATE_TYPE_CRASHED
	paused     = orchv1.StateType_STATE_TYPE_PAUSED
	cancelling = orchv1.StateType_STATE_TYPE_CANCELLING

	accept = orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
	reject = orchv1.SetStateStatus_SET_STATE_STATUS_REJECT
	abort  = orchv1.SetStateStatus_SET_STATE_STATUS_ABORT
	wait   = orchv1.SetStateStatus_SET_STATE_STATUS_WAIT
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const result = `{"type":"reference","storage_key":"k"}`

// runIn is a run of a deployment in a state; edits change it.
func runIn(kind orchv1.StateType, edits ...func(*orchv1.FlowRun)) *orchv1.FlowRun {
	run := &orchv1.FlowRun{
		Id: uuid.NewString(), DeploymentId: new(uuid.NewString()), EmpiricalPolicy: &orchv1.FlowRunPolicy{},
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

func named(name string) func(*orchv1.FlowRun) {
	return func(r *orchv1.FlowRun) { r.State.Name = &name }
}

func details(edit func(*orchv1.StateDetails)) func(*orchv1.FlowRun) {
	return func(r *orchv1.FlowRun) { edit(r.State.StateDetails) }
}

func withData(data string) func(*orchv1.FlowRun) {
	return func(r *orchv1.FlowRun) { r.State.Data = []byte(data) }
}

// withDeadline sets the deadline of the start, as a time after noon.
func withDeadline(after time.Duration) func(*orchv1.FlowRun) {
	return func(r *orchv1.FlowRun) { r.LatenessLimit, r.StartDeadline = new(int64(15)), at(after) }
}

func withoutDeployment(r *orchv1.FlowRun) { r.DeploymentId = nil }

func propose(kind orchv1.StateType, edits ...func(*orchv1.StateCreate)) *orchv1.StateCreate {
	p := &orchv1.StateCreate{Type: kind}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func proposalNamed(name string) func(*orchv1.StateCreate) {
	return func(p *orchv1.StateCreate) { p.Name = &name }
}

func proposalDetails(d *orchv1.StateDetails) func(*orchv1.StateCreate) {
	return func(p *orchv1.StateCreate) { p.StateDetails = d }
}

func judge(run *orchv1.FlowRun, p *orchv1.StateCreate, force bool) *rules.Transition {
	t := rules.Propose(run, p, noon, uuid.New)
	if force {
		rules.MinimalFlowPolicy.Judge(t)
	} else {
		rules.CoreFlowPolicy.Judge(t)
	}
	return t
}

func at(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(d)) }

func TestCorePolicy(t *testing.T) {
	transition := uuid.NewString()
	cases := []struct {
		name   string
		run    *orchv1.FlowRun
		to     *orchv1.StateCreate
		status orchv1.SetStateStatus
		// Written is the name of the state that is written; empty when none is.
		written string
	}{
		{"plain: pending", runIn(scheduled), propose(pending), accept, "Pending"},
		{"plain: running", runIn(pending), propose(running), accept, "Running"},
		{"plain: completed", runIn(running), propose(completed), accept, "Completed"},
		{"plain: crashed", runIn(running), propose(crashed), accept, "Crashed"},

		{"late: claimed before its deadline", runIn(scheduled, withDeadline(time.Microsecond)), propose(pending), accept, "Pending"},
		{"late: claimed at its deadline", runIn(scheduled, withDeadline(0)), propose(pending), reject, rules.NameSkipped},
		{"late: starts without a claim", runIn(scheduled, named("Late"), withDeadline(-time.Hour)), propose(running), reject, rules.NameSkipped},
		{"late: scheduled anew", runIn(scheduled, withDeadline(-time.Hour)), propose(scheduled), accept, "Scheduled"},
		{"late: cancelled", runIn(scheduled, withDeadline(-time.Hour)), propose(cancelled), accept, "Cancelled"},
		{"late: claimed before", runIn(pending, withDeadline(-time.Hour)), propose(running), accept, "Running"},

		{
			"duplicate", runIn(running, details(func(d *orchv1.StateDetails) { d.TransitionId = &transition })),
			propose(running, proposalDetails(&orchv1.StateDetails{TransitionId: &transition})), reject, "",
		},
		{
			"not a duplicate: another id", runIn(running, details(func(d *orchv1.StateDetails) { d.TransitionId = &transition })),
			propose(completed, proposalDetails(&orchv1.StateDetails{TransitionId: new(uuid.NewString())})), accept, "Completed",
		},
		{
			"duplicate of a rejected proposal", runIn(cancelled, func(r *orchv1.FlowRun) { r.RejectedTransitionId = &transition }),
			propose(pending, proposalDetails(&orchv1.StateDetails{TransitionId: &transition})), reject, "",
		},
		{"not a duplicate: no ids", runIn(running), propose(running), accept, "Running"},

		{"terminal: to cancelling", runIn(completed), propose(cancelling), abort, ""},
		{"terminal: to paused", runIn(failed), propose(paused), abort, ""},
		{"terminal: to crashed", runIn(cancelled), propose(crashed), abort, ""},
		{"terminal: completed with a result runs again", runIn(completed, withData(result)), propose(running), reject, ""},
		{"terminal: completed with a result loses it", runIn(completed, withData(result)), propose(completed), reject, ""},
		{"terminal: an unpersisted result is none", runIn(completed, withData(`{"type":"unpersisted"}`)), propose(running), accept, "Running"},
		{"terminal: scheduled again", runIn(failed), propose(scheduled), accept, "Scheduled"},
		{"terminal: scheduled again without deployment", runIn(failed, withoutDeployment), propose(scheduled), abort, ""},
		{"terminal: failed after completed", runIn(completed), propose(failed), accept, "Failed"},

		{"cancelling: to cancelled", runIn(cancelling), propose(cancelled), accept, "Cancelled"},
		{"cancelling: to completed", runIn(cancelling), propose(completed), reject, ""},
		{"cancelling: to failed", runIn(cancelling), propose(failed), reject, ""},
		{"cancelling: to pending", runIn(cancelling), propose(pending), reject, ""},

		{"cancel: nothing runs yet", runIn(scheduled), propose(cancelling), reject, "Cancelled"},
		{"cancel: something runs", runIn(scheduled, func(r *orchv1.FlowRun) { r.InfrastructurePid = new("pid") }), propose(cancelling), accept, "Cancelling"},
		{"cancel: resuming", runIn(scheduled, named("Resuming"), func(r *orchv1.FlowRun) { r.InfrastructurePid = new("pid") }), propose(cancelling), reject, "Cancelled"},
		{"cancel: suspended", runIn(paused, details(func(d *orchv1.StateDetails) { d.PauseReschedule = true })), propose(cancelling), reject, "Cancelled"},
		{"cancel: paused in process", runIn(paused), propose(cancelling), accept, "Cancelling"},
		{"cancel: running", runIn(running), propose(cancelling), accept, "Cancelling"},

		{"pending: taken by another", runIn(pending), propose(pending), abort, ""},
		{"pending: running", runIn(running), propose(pending), abort, ""},
		{"pending: cancelled", runIn(cancelled), propose(pending), abort, ""},
		{"pending: completed", runIn(completed), propose(pending), abort, ""},
		{"pending: failed", runIn(failed), propose(pending), accept, "Pending"},
		{"pending: crashed", runIn(crashed), propose(pending), accept, "Pending"},
		{"pending: a worker reports", runIn(pending), propose(pending, proposalNamed("Submitting")), accept, "Submitting"},
		{"pending: the same report", runIn(pending, named("Submitting")), propose(pending, proposalNamed("Submitting")), abort, ""},
		{"pending: back to the plain name", runIn(pending, named("Submitting")), propose(pending), abort, ""},

		{"late", runIn(scheduled), propose(scheduled, proposalNamed("Late")), accept, "Late"},
		{"late twice", runIn(scheduled, named("Late")), propose(scheduled, proposalNamed("Late")), reject, ""},
		{"late while running", runIn(running), propose(scheduled, proposalNamed("Late")), reject, ""},

		{"pause", runIn(running), propose(paused), accept, "Paused"},
		{"pause: not running", runIn(pending), propose(paused), reject, ""},
		{"pause: no state", &orchv1.FlowRun{Id: uuid.NewString()}, propose(paused), abort, ""},
		{"pause: key fired", runIn(running, func(r *orchv1.FlowRun) {
			r.EmpiricalPolicy.PauseKeys = &orchv1.StringSet{Values: []string{"1"}}
		}), propose(paused, proposalDetails(&orchv1.StateDetails{PauseKey: new("1")})), reject, ""},
		{"suspend", runIn(running), propose(paused, proposalNamed("Suspended"), proposalDetails(&orchv1.StateDetails{PauseReschedule: true})), accept, "Suspended"},
		{
			"suspend: subflow", runIn(running, func(r *orchv1.FlowRun) { r.ParentTaskRunId = new(uuid.NewString()) }),
			propose(paused, proposalDetails(&orchv1.StateDetails{PauseReschedule: true})), abort, "",
		},
		{
			"suspend: no deployment", runIn(running, withoutDeployment),
			propose(paused, proposalDetails(&orchv1.StateDetails{PauseReschedule: true})), abort, "",
		},

		{"resume", runIn(paused), propose(running), accept, "Running"},
		{"resume: scheduled", runIn(paused), propose(scheduled, proposalNamed("Resuming")), accept, "Resuming"},
		{"resume: pending", runIn(paused), propose(pending), reject, ""},
		{
			"resume: no deployment", runIn(paused, withoutDeployment, details(func(d *orchv1.StateDetails) { d.PauseReschedule = true })),
			propose(scheduled), reject, "",
		},
		{"resume: too late", runIn(paused, details(func(d *orchv1.StateDetails) { d.PauseTimeout = at(-time.Second) })), propose(running), reject, "Failed"},
		{"resume: in time", runIn(paused, details(func(d *orchv1.StateDetails) { d.PauseTimeout = at(time.Second) })), propose(running), accept, "Running"},

		{"wait", runIn(scheduled, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(90 * time.Second) })), propose(running), wait, ""},
		{"wait: pending", runIn(pending, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Second) })), propose(running), wait, ""},
		{"wait: the time has come", runIn(pending, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(0) })), propose(running), accept, "Running"},

		{"retry", runIn(running, func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries, r.RunCount = new(int64(1)), 1 }), propose(failed), reject, "AwaitingRetry"},
		{"retry: none left", runIn(running, func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries, r.RunCount = new(int64(1)), 2 }), propose(failed), accept, "Failed"},
		{"retry: no policy", runIn(running), propose(failed), accept, "Failed"},
		{"retry: crashes are not retried", runIn(running, func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries = new(int64(9)) }), propose(crashed), accept, "Crashed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := c.run.GetState()
			got := judge(c.run, c.to, false)
			answer := got.Result()
			require.Equal(t, c.status, answer.GetStatus(), answer.String())
			require.Equal(t, c.written != "", got.Written())
			if c.written == "" {
				require.Same(t, before, answer.GetState())
				return
			}
			require.Equal(t, c.written, answer.GetState().GetName())
			require.Same(t, got.Run.GetState(), answer.GetState())
		})
	}
}

func TestForcedTransitionsPassWhatProtectsRunsFromClients(t *testing.T) {
	for _, c := range []struct {
		run     *orchv1.FlowRun
		to      *orchv1.StateCreate
		written string
	}{
		{runIn(cancelling), propose(completed), "Completed"},
		{runIn(completed), propose(crashed), "Crashed"},
		{runIn(completed, withData(result)), propose(completed), ""},
		{runIn(scheduled), propose(cancelling), "Cancelled"},
		{runIn(scheduled, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Hour) })), propose(running), "Running"},
	} {
		t.Run(c.written, func(t *testing.T) {
			got := judge(c.run, c.to, true)
			name := fmt.Sprint(c.run.GetState().GetType(), " to ", c.to.GetType())
			require.Equal(t, c.written != "", got.Written(), name)
			if got.Written() {
				require.Equal(t, c.written, got.Run.GetState().GetName(), name)
			}
		})
	}
}

func TestScheduledGetsATime(t *testing.T) {
	got := judge(runIn(failed), propose(scheduled), false)
	require.Equal(t, noon, got.Run.GetState().GetStateDetails().GetScheduledTime().AsTime())
	require.Equal(t, noon, got.Run.GetNextScheduledStartTime().AsTime())
}

func TestPendingRemembersTheScheduledTime(t *testing.T) {
	run := runIn(scheduled, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Hour) }),
		func(r *orchv1.FlowRun) { r.NextScheduledStartTime = at(time.Hour) })
	got := judge(run, propose(pending), false)
	require.Equal(t, at(time.Hour).AsTime(), got.Run.GetState().GetStateDetails().GetScheduledTime().AsTime())
	require.Nil(t, got.Run.NextScheduledStartTime)
}

func TestWaitIsInWholeSecondsUpwards(t *testing.T) {
	run := runIn(scheduled, details(func(d *orchv1.StateDetails) { d.ScheduledTime = at(1500 * time.Millisecond) }))
	got := judge(run, propose(running), false).Result()
	require.Equal(t, int64(2), got.GetDetails().GetWait().GetDelaySeconds())
}

func TestRetryKeepsTheFailure(t *testing.T) {
	run := runIn(running, func(r *orchv1.FlowRun) {
		r.EmpiricalPolicy = &orchv1.FlowRunPolicy{
			Retries: new(int64(3)), RetryDelay: new(int64(10)), Resuming: new(true),
			PauseKeys: &orchv1.StringSet{Values: []string{"1"}},
		}
	})
	got := judge(run, &orchv1.StateCreate{Type: failed, Message: new("boom"), Data: []byte(result)}, false)
	state := got.Run.GetState()
	require.Equal(t, scheduled, state.GetType())
	require.Equal(t, "boom", state.GetMessage())
	require.Equal(t, result, string(state.GetData()))
	require.Equal(t, at(10*time.Second).AsTime(), state.GetStateDetails().GetScheduledTime().AsTime())
	policy := got.Run.GetEmpiricalPolicy()
	require.Equal(t, orchv1.RetryType_RETRY_TYPE_IN_PROCESS, policy.GetRetryType())
	require.False(t, policy.GetResuming())
	require.Empty(t, policy.GetPauseKeys().GetValues())
}

func TestPauseAndResumeCount(t *testing.T) {
	// The flag that marks a resumption is set after the resumption itself was counted: the first return from a pause
	// counts as an attempt, the next ones do not.
	run := runIn(running, func(r *orchv1.FlowRun) { r.RunCount = 1 })
	now := noon
	step := func(kind orchv1.StateType) {
		now = now.Add(time.Second)
		tr := rules.Propose(run, propose(kind), now, uuid.New)
		rules.CoreFlowPolicy.Judge(tr)
		require.True(t, tr.Written())
		run = tr.Run
	}
	step(paused)
	require.Len(t, run.GetEmpiricalPolicy().GetPauseKeys().GetValues(), 1)
	step(running)
	require.Equal(t, int64(2), run.GetRunCount())
	require.True(t, run.GetEmpiricalPolicy().GetResuming())
	step(paused)
	step(running)
	require.Equal(t, int64(2), run.GetRunCount())
}

func TestLeaseIsCarriedOn(t *testing.T) {
	lease := uuid.NewString()
	run := runIn(pending, details(func(d *orchv1.StateDetails) { d.DeploymentConcurrencyLeaseId = &lease }))
	got := judge(run, propose(running), false)
	require.Equal(t, lease, got.Run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
}

func TestStateNamesItsRun(t *testing.T) {
	run := runIn(pending, func(r *orchv1.FlowRun) { r.ParentTaskRunId = new(uuid.NewString()) })
	d := judge(run, propose(running), false).Run.GetState().GetStateDetails()
	require.Equal(t, run.GetId(), d.GetFlowRunId())
	require.Equal(t, run.GetParentTaskRunId(), d.GetTaskRunId())
}

func TestDefaultNames(t *testing.T) {
	for kind, name := range map[orchv1.StateType]string{
		scheduled: "Scheduled", cancelling: "Cancelling", crashed: "Crashed",
	} {
		require.Equal(t, name, rules.DefaultName(kind))
	}
}
