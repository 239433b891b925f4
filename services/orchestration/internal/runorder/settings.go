package runorder

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Settings reads the labels and job variables by which clients order runs: "orch.priority", from 0 to 100, and "orch.weight", from 1 to
// 100. A job variable takes precedence over a label. The label "orch.priority.<slug>" of a deployment is the priority of the runs of
// one schedule.
type Settings struct{ priority, weight string }

// NewSettings returns the settings with the names of a vocabulary.
func NewSettings(v vocabulary.Vocabulary) Settings {
	return Settings{priority: v.Name("priority"), weight: v.Name("weight")}
}

// InvalidError is a value outside the range of its setting.
type InvalidError struct {
	Name, Value string
	Low, High   int64
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is %s, not a whole number from %d to %d", e.Name, e.Value, e.Low, e.High)
}

// Priority returns the priority of a run by its labels and job variables; 0 if they say none.
func (s Settings) Priority(labels map[string]*orchv1.Scalar, variables []byte) int64 {
	return s.read(s.priority, 0, MaxPriority, labels, variables)
}

// Weight returns the weight of the deployment of a run by the run's labels and job variables; 0 if they say none.
func (s Settings) Weight(labels map[string]*orchv1.Scalar, variables []byte) int64 {
	return s.read(s.weight, 1, MaxWeight, labels, variables)
}

// Waiting returns what orders a flow run.
func (s Settings) Waiting(run *orchv1.FlowRun) Run {
	waiting := Run{
		Deployment: run.GetDeploymentId(), ID: run.GetId(), Start: run.GetNextScheduledStartTime().AsTime(),
		Priority: run.GetPriority(), Weight: s.Weight(run.GetLabels(), run.GetJobVariables()),
	}
	if run.Rank != nil {
		waiting.Rank = run.GetRank().AsTime()
	}
	return waiting
}

// Check returns an *InvalidError for the first setting with an invalid value.
func (s Settings) Check(labels map[string]*orchv1.Scalar, variables []byte) error {
	for name, label := range labels {
		if err := s.check(name, scalarValue(label)); err != nil {
			return err
		}
	}
	for name, value := range jsonObject(variables) {
		if err := s.check(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) check(name string, value any) error {
	low, high := int64(0), int64(MaxPriority)
	switch {
	case name == s.weight:
		low, high = 1, MaxWeight
	case name != s.priority && !strings.HasPrefix(name, s.priority+"."):
		return nil
	}
	if n, ok := wholeNumber(value); ok && n >= low && n <= high {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte("invalid")
	}
	return &InvalidError{Name: name, Value: string(text[:min(len(text), 100)]), Low: low, High: high}
}

// read returns a setting, or 0 where there is none that is valid.
func (s Settings) read(name string, low, high int64, labels map[string]*orchv1.Scalar, variables []byte) int64 {
	value, ok := jsonObject(variables)[name]
	if !ok {
		value = scalarValue(labels[name])
	}
	n, ok := wholeNumber(value)
	if !ok || n < low || n > high {
		return 0
	}
	return n
}

// Inherit returns the labels of a new run of a deployment: those of the deployment, with the settings in its job variables, and with the
// priority of the schedule of that slug.
func (s Settings) Inherit(d *orchv1.Deployment, schedule string) map[string]*orchv1.Scalar {
	labels := maps.Clone(d.GetLabels())
	if labels == nil {
		labels = map[string]*orchv1.Scalar{}
	}
	variables := jsonObject(d.GetJobVariables())
	for _, name := range []string{s.priority, s.weight} {
		if n, ok := wholeNumber(variables[name]); ok {
			labels[name] = &orchv1.Scalar{Kind: &orchv1.Scalar_Integer{Integer: n}}
		}
	}
	if own := labels[s.priority+"."+schedule]; own != nil {
		labels[s.priority] = own
	}
	return labels
}

// jsonObject returns the fields of a JSON object; none of another text.
func jsonObject(text []byte) map[string]any {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

// wholeNumber returns a whole number, also one that a label or a command line has as a text.
func wholeNumber(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// scalarValue returns the value of a label; nil for none.
func scalarValue(label *orchv1.Scalar) any {
	switch kind := label.GetKind().(type) {
	case *orchv1.Scalar_Boolean:
		return kind.Boolean
	case *orchv1.Scalar_Integer:
		return kind.Integer
	case *orchv1.Scalar_Number:
		return kind.Number
	case *orchv1.Scalar_StringValue:
		return kind.StringValue
	}
	return nil
}
