package conversion

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// keyLabels returns the labels whose values are the key of a trigger, in their order, and their new names.
type keyLabels func(id uuid.UUID) []string

// labelsOf returns the labels of an automation's triggers. Without an automation there are none.
func labelsOf(ws uuid.UUID, a *orchv1.Automation) keyLabels {
	if a == nil {
		return nil
	}
	compiled, err := trigger.Compile(ws, proto.CloneOf(a), vocabulary.Vocabulary{}) // The labels are the same in both.
	if err != nil {
		return nil
	}
	return func(id uuid.UUID) []string {
		if n := compiled.Node(id); n != nil {
			return n.KeyLabels
		}
		return nil
	}
}

// reorder returns the values of a key in the order of the renamed labels: triggers sort their labels.
func (l keyLabels) reorder(triggerID string, key []string, rename func(string) string) []string {
	id, err := uuid.Parse(triggerID)
	if l == nil || err != nil {
		return key
	}
	labels := l(id)
	if len(labels) != len(key) {
		return key
	}
	type value struct{ label, text string }
	values := make([]value, len(key))
	w := rewriter{rename: rename, notes: noNotes{}}
	for i, label := range labels {
		values[i] = value{w.forEach(label), key[i]}
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.label, b.label) })
	next := make([]string, len(key))
	for i, v := range values {
		next[i] = v.text
	}
	return next
}
