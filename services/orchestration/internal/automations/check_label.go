package automations

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// checkLabels refuses labels of the other vocabulary in a trigger and those below it. Every event has the labels of the server's
// vocabulary, so such a trigger would never fire, without a word.
func (s *Checker) checkLabels(t *orchv1.Trigger, at fieldPath, found *fieldErrors, depth int) {
	var nested []*orchv1.Trigger
	switch kind := t.GetKind().(type) {
	case *orchv1.Trigger_Event:
		s.checkMatch(kind.Event.GetMatch(), at.key("match"), found)
		s.checkRelated(kind.Event.GetMatchRelated(), at.key("match_related"), found)
		for _, l := range s.vocab.ForeignLabels() {
			if slices.Contains(kind.Event.GetForEach(), l.Label) {
				found.add(at.key("for_each"), "%s", s.vocab.LabelAdvice(l))
			}
		}
	case *orchv1.Trigger_Metric:
		s.checkMatch(kind.Metric.GetMatch(), at.key("match"), found)
		s.checkRelated(kind.Metric.GetMatchRelated(), at.key("match_related"), found)
	case *orchv1.Trigger_Compound:
		nested = kind.Compound.GetTriggers()
	case *orchv1.Trigger_Sequence:
		nested = kind.Sequence.GetTriggers()
	}
	if depth > maxNesting {
		return // The trigger is refused for that.
	}
	for i, child := range nested {
		s.checkLabels(child, at.key("triggers").index(i), found, depth+1)
	}
}

func (s *Checker) checkMatch(m *orchv1.ResourceSpecification, at fieldPath, found *fieldErrors) {
	for _, l := range s.vocab.ForeignLabels() {
		if _, given := m.GetLabels()[l.Label]; given {
			found.add(at, "%s", s.vocab.LabelAdvice(l))
		}
	}
}

func (s *Checker) checkRelated(m *orchv1.RelatedMatch, at fieldPath, found *fieldErrors) {
	s.checkMatch(m.GetOne(), at, found)
	for i, one := range m.GetAll().GetValues() {
		s.checkMatch(one, at.index(i), found)
	}
}
