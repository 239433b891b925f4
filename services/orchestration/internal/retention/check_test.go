package retention

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	day = 24 * time.Hour

	flowRuns = orchv1.RetentionKind_RETENTION_KIND_FLOW_RUNS
	taskRuns = orchv1.RetentionKind_RETENTION_KIND_TASK_RUNS
	logs     = orchv1.RetentionKind_RETENTION_KIND_LOGS

	completed = orchv1.StateType_STATE_TYPE_COMPLETED
	failed    = orchv1.StateType_STATE_TYPE_FAILED
	cancelled = orchv1.StateType_STATE_TYPE_CANCELLED
	crashed   = orchv1.StateType_STATE_TYPE_CRASHED
	running   = orchv1.StateType_STATE_TYPE_RUNNING
)

func rule(kind orchv1.RetentionKind, age time.Duration, states ...orchv1.StateType) *orchv1.RetentionRule {
	return &orchv1.RetentionRule{Kind: kind, MaxAge: durationpb.New(age), States: states}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules []*orchv1.RetentionRule
		want  string // Empty for valid rules.
	}{
		"none":                      {},
		"one of each kind":          {rules: []*orchv1.RetentionRule{rule(flowRuns, day), rule(taskRuns, day), rule(logs, minAge)}},
		"states and the rest":       {rules: []*orchv1.RetentionRule{rule(flowRuns, day, failed), rule(flowRuns, 2*day)}},
		"states of two kinds":       {rules: []*orchv1.RetentionRule{rule(flowRuns, day, failed), rule(taskRuns, day, failed)}},
		"every state in its rule":   {rules: []*orchv1.RetentionRule{rule(flowRuns, day, failed, crashed), rule(flowRuns, day, completed)}},
		"too young":                 {rules: []*orchv1.RetentionRule{rule(logs, minAge-1)}, want: "must be at least 3600 seconds"},
		"negative age":              {rules: []*orchv1.RetentionRule{rule(logs, -day)}, want: "must be at least 3600 seconds"},
		"without an age":            {rules: []*orchv1.RetentionRule{{Kind: logs}}, want: "must be at least 3600 seconds"},
		"states of logs":            {rules: []*orchv1.RetentionRule{rule(logs, day, failed)}, want: "only flow runs and task runs have states"},
		"a state that is not final": {rules: []*orchv1.RetentionRule{rule(flowRuns, day, running)}, want: "must be terminal"},
		"a kind twice":              {rules: []*orchv1.RetentionRule{rule(logs, day), rule(logs, 2*day)}, want: "another rule selects the same documents"},
		"the rest twice":            {rules: []*orchv1.RetentionRule{rule(taskRuns, day), rule(taskRuns, 2*day)}, want: "another rule selects the same documents"},
		"a state twice":             {rules: []*orchv1.RetentionRule{rule(flowRuns, day, failed, completed), rule(flowRuns, day, failed)}, want: "another rule selects the same documents"},
		"a state twice in one rule": {rules: []*orchv1.RetentionRule{rule(flowRuns, day, failed, failed)}, want: "another rule selects the same documents"},
		"the second rule":           {rules: []*orchv1.RetentionRule{rule(logs, day), rule(flowRuns, 0)}, want: "must be at least 3600 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := check(c.rules)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestStatesOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules []*orchv1.RetentionRule
		want  []orchv1.StateType // Of the first rule.
	}{
		"no states named":              {[]*orchv1.RetentionRule{rule(flowRuns, day)}, terminalStates},
		"its own states":               {[]*orchv1.RetentionRule{rule(flowRuns, day, failed), rule(flowRuns, day)}, []orchv1.StateType{failed}},
		"those that others do not":     {[]*orchv1.RetentionRule{rule(flowRuns, day), rule(flowRuns, day, failed, crashed)}, []orchv1.StateType{completed, cancelled}},
		"another kind takes none":      {[]*orchv1.RetentionRule{rule(flowRuns, day), rule(taskRuns, day, failed)}, terminalStates},
		"others name all":              {[]*orchv1.RetentionRule{rule(taskRuns, day), rule(taskRuns, day, terminalStates...)}, []orchv1.StateType{}},
		"documents that have no state": {[]*orchv1.RetentionRule{rule(logs, day), rule(flowRuns, day)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, statesOf(c.rules[0], c.rules))
		})
	}
	require.Len(t, terminalStates, 4, "a rule does not change the list")
}

// A rule without states that others have named completely selects nothing, rather than runs in every state.
func TestSteps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	all := steps(uuid.New(), []*orchv1.RetentionRule{rule(taskRuns, day), rule(taskRuns, 2*day, terminalStates...), rule(logs, 3*day)}, now)
	require.True(t, all[0].done)
	require.False(t, all[1].done)
	require.Equal(t, []string{"COMPLETED", "FAILED", "CANCELLED", "CRASHED"}, all[1].expired.States)
	require.Equal(t, now.Add(-2*day), all[1].expired.Before)
	require.False(t, all[2].done)
	require.Empty(t, all[2].expired.States)
	require.Equal(t, "logs", all[2].kind())
}
