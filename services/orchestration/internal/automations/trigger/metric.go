package trigger

import (
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// MetricSample is what a metric was at a time. A metric that nothing contributed to has no value.
type MetricSample struct {
	Value float64
	Known bool
}

// ApplyMetric applies a sample to a metric trigger's bucket at a time, and returns the trigger's firing, nil if it does not
// fire:
//
//	recovered ──breached for firing_for──► fires Triggered; breached ──within bounds for firing_for──► fires Resolved
//
// The bucket is open while the trigger is triggered, and its start is when the opposite began. A metric without a value
// is within its bounds.
func (n *Node) ApplyMetric(b *orchv1.AutomationBucket, sample MetricSample, now int64) *orchv1.AutomationFiring {
	query := n.Metric.GetMetric()
	breached := sample.Known && breaches(query, sample.Value)
	if breached == b.GetOpen() {
		b.Start = 0
		return nil
	}
	if b.GetStart() == 0 {
		b.Start = now
	}
	if now-b.GetStart() < query.GetFiringFor().AsDuration().Microseconds() {
		return nil
	}
	f := n.newFiring(b, now, nil)
	f.Id = derived(n.ID, "metric", strconv.FormatInt(now, 10)).String()
	f.Start, f.End = b.GetStart(), now
	if sample.Known {
		f.Value = &sample.Value
	}
	if !breached {
		f.State = orchv1.TriggerState_TRIGGER_STATE_RESOLVED
	}
	b.Open, b.Start = breached, 0
	return f
}

func breaches(query *orchv1.MetricTriggerQuery, value float64) bool {
	switch threshold := query.GetThreshold(); query.GetOperator() {
	case orchv1.MetricOperator_METRIC_OPERATOR_LT:
		return value < threshold
	case orchv1.MetricOperator_METRIC_OPERATOR_LE:
		return value <= threshold
	case orchv1.MetricOperator_METRIC_OPERATOR_GT:
		return value > threshold
	case orchv1.MetricOperator_METRIC_OPERATOR_GE:
		return value >= threshold
	}
	return false
}
