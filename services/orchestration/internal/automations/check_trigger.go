package automations

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/durationpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxNesting bounds how deep triggers nest. A stored trigger takes three levels of a document, whose number databases limit.
const maxNesting = 16

// The shortest times that triggers may name, and the time of a trigger that misses events and names none.
const (
	minProactive = 10 * time.Second
	minMetric    = 5 * time.Minute
)

// prepareTrigger gives a trigger and those below it ids and what was not sent, and collects what is wrong with them.
func prepareTrigger(t *orchv1.Trigger, newID func() uuid.UUID, at fieldPath, found *fieldErrors) {
	prepareNested(t, newID, at, found, 0)
}

func prepareNested(t *orchv1.Trigger, newID func() uuid.UUID, at fieldPath, found *fieldErrors, depth int) {
	if depth > maxNesting {
		found.add(at, "Triggers may nest at most %d levels deep", maxNesting)
		return
	}
	switch kind := t.GetKind().(type) {
	case *orchv1.Trigger_Event:
		e := kind.Event
		e.Id = newID().String()
		e.Match, e.MatchRelated = specified(e.GetMatch()), related(e.GetMatchRelated())
		prepareWithin(e, at, found)
	case *orchv1.Trigger_Metric:
		m := kind.Metric
		m.Id = newID().String()
		m.Match, m.MatchRelated = specified(m.GetMatch()), related(m.GetMatchRelated())
		for name, d := range map[string]*durationpb.Duration{"range": m.GetMetric().GetRange(), "firing_for": m.GetMetric().GetFiringFor()} {
			if d.AsDuration() < minMetric {
				found.add(at.key("metric").key(name), "The minimum range is 300 seconds (5 minutes)")
			}
		}
	case *orchv1.Trigger_Compound:
		c := kind.Compound
		c.Id = newID().String()
		prepareTriggers(c.GetTriggers(), newID, at, found, depth+1)
		if counted, ok := c.GetRequire().GetKind().(*orchv1.Requirement_Count); ok {
			switch {
			case counted.Count < 1:
				found.add(at, "require must be at least 1")
			case counted.Count > int64(len(c.GetTriggers())):
				found.add(at, "require must be less than or equal to the number of triggers")
			}
		}
	case *orchv1.Trigger_Sequence:
		s := kind.Sequence
		s.Id = newID().String()
		prepareTriggers(s.GetTriggers(), newID, at, found, depth+1)
	}
}

func prepareTriggers(triggers []*orchv1.Trigger, newID func() uuid.UUID, at fieldPath, found *fieldErrors, depth int) {
	for i, t := range triggers {
		prepareNested(t, newID, at.key("triggers").index(i), found, depth)
	}
}

// prepareWithin checks the time in which events are counted. Events are missed only after some time.
func prepareWithin(e *orchv1.EventTrigger, at fieldPath, found *fieldErrors) {
	if e.GetWithin() == nil {
		e.Within = durationpb.New(0)
	}
	within := e.GetWithin().AsDuration()
	proactive := e.GetPosture() == orchv1.Posture_POSTURE_PROACTIVE
	switch {
	case proactive && within == 0:
		e.Within = durationpb.New(minProactive)
	case proactive && within < minProactive:
		found.add(at, "`within` for Proactive triggers must be greater than or equal to 10 seconds")
	case within < 0:
		found.add(at.key("within"), "Input should be greater than or equal to 0 seconds")
	}
}

// specified is a specification, the one that everything matches if there is none.
func specified(s *orchv1.ResourceSpecification) *orchv1.ResourceSpecification {
	if s == nil {
		return &orchv1.ResourceSpecification{}
	}
	return s
}

func related(m *orchv1.RelatedMatch) *orchv1.RelatedMatch {
	if m.GetKind() == nil {
		return &orchv1.RelatedMatch{Kind: &orchv1.RelatedMatch_One{One: &orchv1.ResourceSpecification{}}}
	}
	return m
}
