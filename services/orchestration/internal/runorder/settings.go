package runorder

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Settings reads the labels and job variables by which clients order runs and end late ones: "orch.priority", from 0 to 100,
// "orch.weight", from 1 to 100, and "orch.lateness": "keep", "skip", or a number of seconds. A job variable takes precedence over a
// label. The name of a deployment's setting with a slug, "orch.priority.<slug>", is that of the runs of one schedule.
type Settings struct{ priority, weight, lateness setting }

// NewSettings returns the settings with the names of a vocabulary.
func NewSettings(v vocabulary.Vocabulary) Settings {
	return Settings{
		priority: setting{name: v.Name("priority"), high: MaxPriority},
		weight:   setting{name: v.Name("weight"), low: 1, high: MaxWeight},
		lateness: setting{name: v.Name("lateness"), low: int64(LateAfter / time.Second), high: maxLateness, words: []string{keepLate, skipLate}},
	}
}

func (s Settings) all() []setting { return []setting{s.priority, s.weight, s.lateness} }

// InvalidError is a value that its setting cannot have.
type InvalidError struct {
	Name, Value string
	// Want are the values that the setting can have.
	Want string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is %s, not %s", e.Name, e.Value, e.Want)
}

// Priority returns the priority of a run by its labels and job variables; 0 if they say none.
func (s Settings) Priority(labels map[string]*orchv1.Scalar, variables []byte) int64 {
	return s.priority.number(s.priority.value(labels, variables))
}

// Weight returns the weight of the deployment of a run by the run's labels and job variables; 0 if they say none.
func (s Settings) Weight(labels map[string]*orchv1.Scalar, variables []byte) int64 {
	return s.weight.number(s.weight.value(labels, variables))
}

// LatenessLimit returns the seconds by which the start of a run may be late, by its labels and job variables; 0 for any number.
func (s Settings) LatenessLimit(labels map[string]*orchv1.Scalar, variables []byte) int64 {
	value := s.lateness.value(labels, variables)
	if value == skipLate {
		return s.lateness.low
	}
	return s.lateness.number(value)
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
	for _, one := range s.all() {
		rest, ok := strings.CutPrefix(name, one.name)
		if !ok || rest != "" && rest[0] != '.' || one.has(value) {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte("invalid")
		}
		return &InvalidError{Name: name, Value: string(text[:min(len(text), 100)]), Want: one.want()}
	}
	return nil
}

// Inherit returns the labels of a new run of a deployment and of one of its schedules: the labels of the deployment, with the settings in
// its job variables, and those of the schedule. A run of no schedule does not inherit what becomes of late runs.
func (s Settings) Inherit(d *orchv1.Deployment, schedule *orchv1.DeploymentSchedule) map[string]*orchv1.Scalar {
	labels := maps.Clone(d.GetLabels())
	if labels == nil {
		labels = map[string]*orchv1.Scalar{}
	}
	variables := jsonObject(d.GetJobVariables())
	for _, one := range s.all() {
		for _, name := range []string{one.name, one.name + "." + schedule.GetSlug()} {
			if value := variables[name]; one.has(value) {
				labels[name] = scalarOf(value)
			}
			if label := labels[name]; label != nil {
				labels[one.name] = label
			}
		}
	}
	if schedule == nil {
		delete(labels, s.lateness.name)
	}
	return labels
}

// setting is a label or job variable that has a whole number from low to high, or one of some words.
type setting struct {
	name      string
	low, high int64
	words     []string
}

// value returns the value of a job variable or else of a label; nil for none.
func (s setting) value(labels map[string]*orchv1.Scalar, variables []byte) any {
	if value, ok := jsonObject(variables)[s.name]; ok {
		return value
	}
	return scalarValue(labels[s.name])
}

func (s setting) has(value any) bool {
	if word, ok := value.(string); ok && slices.Contains(s.words, word) {
		return true
	}
	n, ok := wholeNumber(value)
	return ok && n >= s.low && n <= s.high
}

// number returns the number that a value has, or 0 where the setting cannot have it.
func (s setting) number(value any) int64 {
	if n, ok := wholeNumber(value); ok && s.has(value) {
		return n
	}
	return 0
}

// want describes the values that the setting can have.
func (s setting) want() string {
	text := fmt.Sprintf("a whole number from %d to %d", s.low, s.high)
	for _, word := range slices.Backward(s.words) {
		text = fmt.Sprintf("%q or ", word) + text
	}
	return text
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

// scalarOf returns a number or a text as a label has it.
func scalarOf(value any) *orchv1.Scalar {
	if n, ok := wholeNumber(value); ok {
		return &orchv1.Scalar{Kind: &orchv1.Scalar_Integer{Integer: n}}
	}
	return &orchv1.Scalar{Kind: &orchv1.Scalar_StringValue{StringValue: fmt.Sprint(value)}}
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
