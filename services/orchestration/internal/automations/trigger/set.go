package trigger

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

// Set is the automations of one workspace. It is immutable; a change makes another set.
type Set struct {
	automations map[uuid.UUID]*Automation
	index       *match.Index[*Node]
	proactive   []*Node
	metrics     []*Node
}

// NewSet returns the set of automations; those that are disabled take no events.
func NewSet(automations ...*Automation) *Set {
	s := &Set{automations: map[uuid.UUID]*Automation{}, index: match.NewIndex[*Node]()}
	for _, a := range automations {
		s.automations[a.ID] = a
		if !a.Enabled() {
			continue
		}
		for _, leaf := range a.Leaves {
			s.index.Add(leaf.Filter, leaf)
			if leaf.Proactive {
				s.proactive = append(s.proactive, leaf)
			}
		}
		s.metrics = append(s.metrics, a.Metrics...)
	}
	return s
}

// Automation returns the automation of an id, nil if the set has none.
func (s *Set) Automation(id uuid.UUID) *Automation { return s.automations[id] }

// Automations returns all automations, in no order.
func (s *Set) Automations() map[uuid.UUID]*Automation { return s.automations }

// Takers returns the leaves that take an event, in the order in which they stand in their automations, and the effort of the comparisons.
// The error matches match.ErrEffort.
func (s *Set) Takers(e *orchv1.ReceivedEvent) (found []*Node, effort int, err error) {
	found, effort, err = s.index.Takers(e)
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *Node) int {
			return cmp.Or(slices.Compare(a.Automation.ID[:], b.Automation.ID[:]), slices.Index(a.Automation.Leaves, a)-slices.Index(b.Automation.Leaves, b))
		})
	}
	return found, effort, err
}

// MayMatch reports whether some trigger may take events of a name.
func (s *Set) MayMatch(name string) bool { return s.index.MayMatch(name) }

// Proactive returns the enabled leaves for which the clock counts.
func (s *Set) Proactive() []*Node { return s.proactive }

// Metrics returns the enabled metric triggers.
func (s *Set) Metrics() []*Node { return s.metrics }
