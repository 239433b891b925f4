package rules_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

func tagged(r *orchv1.TaskRun) { r.Tags = []string{"db", "big"} }

func leasedAs(lease string) func(*orchv1.TaskRun) {
	return func(r *orchv1.TaskRun) { r.SlotLeaseId = &lease }
}

// Slots are asked for only where the answer counts: not where an earlier rule decides.
func TestTaskSlotsAreAskedFor(t *testing.T) {
	t.Parallel()
	inFlow := func(kind orchv1.StateType) rules.TaskFacts { return rules.TaskFacts{FlowRun: flowIn(kind)} }
	key := proposalDetails(&orchv1.StateDetails{CacheKey: new("k")})
	for name, c := range map[string]struct {
		policy rules.TaskPolicy
		run    *orchv1.TaskRun
		to     *orchv1.StateCreate
		facts  rules.TaskFacts
		want   bool
	}{
		"to running":           {rules.CoreTaskPolicy, taskIn(pending, tagged), propose(running), inFlow(running), true},
		"in the background":    {rules.BackgroundTaskPolicy, taskIn(pending, tagged), propose(running), inFlow(running), true},
		"without tags":         {rules.CoreTaskPolicy, taskIn(pending), propose(running), inFlow(running), false},
		"not to running":       {rules.CoreTaskPolicy, taskIn(running, tagged), propose(completed), inFlow(running), false},
		"forced":               {rules.MinimalTaskPolicy, taskIn(pending, tagged), propose(running), inFlow(running), false},
		"it has them":          {rules.CoreTaskPolicy, taskIn(running, tagged, leasedAs(uuid.NewString())), propose(running), inFlow(running), false},
		"the flow is stopped":  {rules.CoreTaskPolicy, taskIn(pending, tagged), propose(running), inFlow(cancelled), false},
		"the flow is paused":   {rules.CoreTaskPolicy, taskIn(pending, tagged), propose(running), inFlow(paused), false},
		"it has ended for all": {rules.CoreTaskPolicy, taskIn(completed, tagged, func(r *orchv1.TaskRun) { r.State.Data = []byte(result) }), propose(running), inFlow(running), false},
		"it is in the cache": {
			rules.CoreTaskPolicy, taskIn(pending, tagged), propose(running, key),
			rules.TaskFacts{FlowRun: flowIn(running), Cached: &orchv1.State{Type: completed}},
			false,
		},
		"its time has not come": {
			rules.CoreTaskPolicy, taskIn(scheduled, tagged, taskDetails(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Hour) })),
			propose(running), inFlow(running), true, // The rule stands before the one that lets it wait.
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.Random = func() float64 { return 0.5 }
			require.Equal(t, c.want, c.policy.AsksSlots(c.run, c.to, c.facts, noon, uuid.New), name)
		})
	}
}

func TestTaskSlotsDecide(t *testing.T) {
	t.Parallel()
	lease := uuid.NewString()
	later := taskDetails(func(d *orchv1.StateDetails) { d.ScheduledTime = at(time.Hour) })
	for name, c := range map[string]struct {
		run   *orchv1.TaskRun
		slots rules.TaskSlots
		// Status, the lease that the run has then, and the one that the transition uses.
		status    orchv1.SetStateStatus
		has, uses string
	}{
		"taken":                  {taskIn(pending, tagged), rules.TaskSlots{Lease: lease}, accept, lease, lease},
		"no limits":              {taskIn(pending, tagged), rules.TaskSlots{}, accept, "", ""},
		"full":                   {taskIn(pending, tagged), rules.TaskSlots{Full: []string{"db"}, Wait: 1500 * time.Millisecond}, wait, "", ""},
		"never":                  {taskIn(pending, tagged), rules.TaskSlots{Never: "db"}, abort, "", ""},
		"a later rule decides":   {taskIn(scheduled, tagged, later), rules.TaskSlots{Lease: lease}, wait, "", ""},
		"kept from running":      {taskIn(running, tagged, leasedAs(lease)), rules.TaskSlots{Never: "db"}, accept, lease, ""},
		"without tags: no limit": {taskIn(pending), rules.TaskSlots{Never: "db"}, accept, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := judgeTask(rules.CoreTaskPolicy, c.run, propose(running), rules.TaskFacts{FlowRun: flowIn(running), Slots: &c.slots})
			require.Equal(t, c.status, got.Result().GetStatus(), name)
			require.Equal(t, c.has, got.Run.GetSlotLeaseId(), name)
			require.Equal(t, c.uses, got.Use.Taken, name)
			require.Empty(t, got.Use.Released, name)
			if c.status == wait && len(c.slots.Full) > 0 {
				require.Equal(t, int64(2), got.Result().GetDetails().GetWait().GetDelaySeconds())
			}
		})
	}
}

func TestTaskSlotsAreReleased(t *testing.T) {
	t.Parallel()
	own, clients := uuid.NewString(), uuid.NewString()
	for name, c := range map[string]struct {
		policy   rules.TaskPolicy
		run      *orchv1.TaskRun
		to       *orchv1.StateCreate
		held     []string
		released []string
	}{
		"ended":                         {rules.CoreTaskPolicy, taskIn(running, leasedAs(own)), propose(completed), nil, []string{own}},
		"ended, and found among others": {rules.CoreTaskPolicy, taskIn(running, leasedAs(own)), propose(completed), []string{clients, own}, []string{clients, own}},
		"a client took it":              {rules.CoreTaskPolicy, taskIn(running), propose(failed), []string{clients}, []string{clients}},
		"to be retried":                 {rules.CoreTaskPolicy, taskIn(running, ranTimes(1), retries(1, nil), leasedAs(own)), propose(failed), nil, []string{own}},
		"forced":                        {rules.MinimalTaskPolicy, taskIn(running, leasedAs(own)), propose(crashed), nil, []string{own}},
		"in the background":             {rules.BackgroundTaskPolicy, taskIn(running, leasedAs(own)), propose(completed), nil, []string{own}},
		"is being cancelled":            {rules.CoreTaskPolicy, taskIn(running, leasedAs(own)), propose(cancelling), []string{own}, nil},
		"cancelled":                     {rules.CoreTaskPolicy, taskIn(cancelling, leasedAs(own)), propose(cancelled), []string{own}, []string{own}},
		"nothing held":                  {rules.CoreTaskPolicy, taskIn(pending), propose(failed), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := judgeTask(c.policy, c.run, c.to, rules.TaskFacts{FlowRun: flowIn(running), Held: c.held})
			require.True(t, got.Written(), name)
			require.Equal(t, c.released, got.Use.Released, name)
			require.Equal(t, c.released == nil && c.run.SlotLeaseId != nil, got.Run.SlotLeaseId != nil, name)
		})
	}
	nothing := judgeTask(rules.CoreTaskPolicy, taskIn(completed, leasedAs(own)), propose(cancelling), rules.TaskFacts{FlowRun: flowIn(running)})
	require.False(t, nothing.Written())
	require.Empty(t, nothing.Use.Released, "nothing is written")
}
