package trigger

import (
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Explain returns why the trigger fired, in one sentence.
func (n *Node) Explain(f *orchv1.AutomationFiring) string {
	switch {
	case n.Metric != nil:
		return n.explainMetric(f)
	case n.sequence:
		return fmt.Sprintf("All %d triggers fired in their order.", len(n.Children))
	case len(n.Children) > 0:
		return fmt.Sprintf("%d of %d triggers fired; %d are required.", len(f.GetChildren()), len(n.Children), n.need)
	case n.Proactive:
		return fmt.Sprintf("%d of %d expected events occurred from %s to %s.", max(f.GetCount(), 0), n.Threshold, clockTime(f.GetStart()), clockTime(f.GetEnd()))
	case n.Within == 0:
		return fmt.Sprintf("The number of events, %d, reached the threshold %d.", f.GetCount(), n.Threshold)
	}
	return fmt.Sprintf("The number of events from %s to %s, %d, reached the threshold %d.",
		clockTime(f.GetStart()), clockTime(f.GetEnd()), f.GetCount(), n.Threshold)
}

func (n *Node) explainMetric(f *orchv1.AutomationFiring) string {
	query := n.Metric.GetMetric()
	name, _ := restjson.EnumWord(query.GetName().Descriptor(), query.GetName().Number())
	operator, _ := restjson.EnumWord(query.GetOperator().Descriptor(), query.GetOperator().Number())
	span := query.GetFiringFor().AsDuration()
	if f.GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED {
		return fmt.Sprintf("%s was not %s %v for %s.", name, operator, query.GetThreshold(), span)
	}
	return fmt.Sprintf("%s was %s %v for %s; the last value is %v.", name, operator, query.GetThreshold(), span, f.GetValue())
}

func clockTime(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339) }
