package trigger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	successes = orchv1.MetricName_METRIC_NAME_SUCCESSES
	duration  = orchv1.MetricName_METRIC_NAME_DURATION
	lateness  = orchv1.MetricName_METRIC_NAME_LATENESS
	below     = orchv1.MetricOperator_METRIC_OPERATOR_LT
	atMost    = orchv1.MetricOperator_METRIC_OPERATOR_LE
	above     = orchv1.MetricOperator_METRIC_OPERATOR_GT
	atLeast   = orchv1.MetricOperator_METRIC_OPERATOR_GE
)

// happened is a state of a run, in seconds after the beginning.
type happened struct {
	at    int
	run   byte
	state string
}

// firing is what the trigger says, in seconds after the beginning.
type firing struct {
	at       int
	resolved bool
	value    float64
	unknown  bool
}

// Each scenario is computed by hand. The clock goes on by 60 s from 0 to its end; range and firing_for are 300 s.
func TestMetricScenarios(t *testing.T) {
	t.Parallel()
	const range_, firingFor = 300, 300
	for name, s := range map[string]struct {
		metric    orchv1.MetricName
		operator  orchv1.MetricOperator
		threshold float64
		events    []happened
		end       int
		want      []firing
	}{
		"nothing happens": {successes, below, 0.9, nil, 1200, nil},
		// 1 of 2 failed from 60 on: breached at 60 to 360 (the range holds what occurred at 60 until 360), 300 s long at 360.
		"half fail":                  {successes, below, 0.9, []happened{{30, 1, "Pending"}, {60, 1, "Failed"}, {30, 2, "Pending"}, {60, 2, "Completed"}, {240, 3, "Pending"}, {250, 3, "Failed"}}, 420, []firing{{at: 360, value: 0}}},
		"all succeed":                {successes, below, 0.9, []happened{{30, 1, "Pending"}, {60, 1, "Completed"}, {200, 2, "Pending"}, {210, 2, "Completed"}}, 900, nil},
		"too short a breach":         {successes, below, 0.9, []happened{{30, 1, "Pending"}, {50, 1, "Failed"}}, 900, nil}, // Known from 60 to 330.
		"pending counts as success":  {successes, atLeast, 1, []happened{{0, 1, "Pending"}, {200, 2, "Pending"}}, 420, []firing{{at: 300, value: 1}}},
		"crashed is no success":      {successes, atMost, 0, []happened{{0, 1, "Pending"}, {0, 1, "Crashed"}, {200, 2, "Pending"}, {200, 2, "Crashed"}}, 480, []firing{{at: 300, value: 0}}},
		"a retry that succeeds":      {successes, below, 1, []happened{{0, 1, "Pending"}, {10, 1, "Failed"}, {100, 1, "Completed"}}, 600, nil},
		"without pending no run":     {successes, below, 1, []happened{{0, 1, "Failed"}, {150, 2, "Failed"}, {300, 3, "Failed"}}, 600, nil},
		"recovers when forgotten":    {successes, atMost, 0, []happened{{0, 1, "Pending"}, {0, 1, "Failed"}, {250, 2, "Pending"}, {250, 2, "Failed"}}, 960, []firing{{at: 300, value: 0}, {at: 900, resolved: true, unknown: true}}},
		"exactly the threshold, <":   {successes, below, 0.5, []happened{{0, 1, "Pending"}, {0, 1, "Failed"}, {0, 2, "Pending"}, {290, 3, "Pending"}, {290, 3, "Failed"}, {290, 4, "Pending"}}, 600, nil},
		"exactly the threshold, <=":  {successes, atMost, 0.5, []happened{{0, 1, "Pending"}, {0, 1, "Failed"}, {0, 2, "Pending"}, {290, 3, "Pending"}, {290, 3, "Failed"}, {290, 4, "Pending"}}, 300, []firing{{at: 300, value: 0.5}}},
		"long runs":                  {duration, above, 50, []happened{{0, 1, "Running"}, {60, 1, "Completed"}, {240, 2, "Running"}, {330, 2, "Failed"}}, 420, []firing{{at: 360, value: 90}}},
		"short runs":                 {duration, above, 100, []happened{{0, 1, "Running"}, {60, 1, "Completed"}, {240, 2, "Running"}, {330, 2, "Failed"}}, 900, nil},
		"the mean of durations":      {duration, atLeast, 75, []happened{{0, 1, "Running"}, {60, 1, "Completed"}, {0, 2, "Running"}, {90, 2, "Completed"}, {240, 3, "Running"}, {340, 3, "Completed"}}, 480, []firing{{at: 420, value: 100}}},
		"a run that does not end":    {duration, above, 1, []happened{{0, 1, "Running"}, {200, 2, "Running"}}, 900, nil},
		"an end without a beginning": {duration, above, 0, []happened{{0, 1, "Completed"}, {200, 2, "Completed"}}, 900, nil},
		"late runs":                  {lateness, above, 30, []happened{{0, 1, "Late"}, {60, 1, "Running"}, {240, 2, "Late"}, {300, 2, "Running"}}, 420, []firing{{at: 360, value: 60}}},
		"late runs that crash":       {lateness, above, 30, []happened{{0, 1, "Late"}, {60, 1, "Crashed"}, {240, 2, "Late"}, {300, 2, "Crashed"}}, 420, []firing{{at: 360, value: 60}}},
		"late and not begun":         {lateness, above, 0, []happened{{0, 1, "Late"}, {200, 2, "Late"}}, 900, nil},
		"late, then on time":         {lateness, atLeast, 60, []happened{{0, 1, "Late"}, {60, 1, "Running"}, {240, 2, "Late"}, {300, 2, "Running"}, {540, 3, "Late"}, {541, 3, "Running"}, {700, 4, "Late"}, {701, 4, "Running"}}, 960, []firing{{at: 360, value: 60}, {at: 900, resolved: true, value: 1}}},
		"not late at all":            {lateness, above, 30, []happened{{0, 1, "Running"}, {100, 2, "Running"}}, 900, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := &orchv1.MetricTriggerQuery{
				Name: s.metric, Operator: s.operator, Threshold: s.threshold,
				Range: durationpb.New(range_ * time.Second), FiringFor: durationpb.New(firingFor * time.Second),
			}
			a, err := trigger.Compile(uuid.New(), &orchv1.Automation{Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{
				Kind: &orchv1.Trigger_Metric{Metric: &orchv1.MetricTrigger{Id: uuid.NewString(), Metric: query}},
			}}, vocabulary.Orch)
			require.NoError(t, err)
			begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro()
			micros := func(seconds int) int64 { return begin + int64(seconds)*1_000_000 }
			bucket := &orchv1.AutomationBucket{}
			var got []firing
			for now := 0; now <= s.end; now += 60 {
				var events []trigger.RunEvent
				for _, e := range s.events {
					events = append(events, trigger.RunEvent{Run: uuid.UUID{e.run}, State: e.state, At: micros(e.at)})
				}
				f := a.Root.ApplyMetric(bucket, trigger.Measure(query, events, micros(now)), micros(now))
				if f != nil {
					got = append(got, firing{now, f.GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED, f.GetValue(), f.Value == nil})
				}
			}
			require.Equal(t, s.want, got)
		})
	}
}
