package retention

import (
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// step is what one rule selects in one workspace at one time.
type step struct {
	ws      uuid.UUID
	rule    *orchv1.RetentionRule
	expired store.Expired
	// deleted is the number of deleted documents, and done reports that none is left, or that the rule failed.
	deleted int64
	done    bool
	failed  error
}

// steps returns the steps of a policy at a time, in the order of its rules.
func steps(ws uuid.UUID, list []*orchv1.RetentionRule, now time.Time) []*step {
	all := make([]*step, len(list))
	for i, rule := range list {
		one := &step{ws: ws, rule: rule, expired: store.Expired{Before: now.Add(-rule.GetMaxAge().AsDuration())}}
		for _, state := range statesOf(rule, list) {
			one.expired.States = append(one.expired.States, rules.StateName(state))
		}
		// Other rules name every state that this one could select.
		one.done = hasStates(rule.GetKind()) && len(one.expired.States) == 0
		all[i] = one
	}
	return all
}

// kind is the name of the step's kind in metrics and logs.
func (s *step) kind() string {
	return strings.ToLower(strings.TrimPrefix(s.rule.GetKind().String(), "RETENTION_KIND_"))
}

// selectionKey identifies what a step selects, apart from the time.
type selectionKey struct {
	ws     uuid.UUID
	kind   orchv1.RetentionKind
	states string
}

func (s *step) key() selectionKey {
	return selectionKey{s.ws, s.rule.GetKind(), strings.Join(s.expired.States, " ")}
}

const (
	// restAfter is the pause of the background service after a step without expired documents.
	restAfter = time.Minute
	// forgetAfter is how long a position is used. Clients may set states with times of the past, behind it.
	forgetAfter = 24 * time.Hour
)

// mark is what is remembered of a place.
type mark struct {
	// reached is the time before which nothing is expired, and since is when its walk began.
	reached, since time.Time
	// rest is the time before which the background service skips the place.
	rest time.Time
}

// resume sets the window of a step to begin where the last one ended. It reports whether the step is due.
func (s *Service) resume(one *step, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.marks[one.key()]
	if !ok {
		return true
	}
	if since := now.Sub(m.since); since < 0 || since > forgetAfter {
		delete(s.marks, one.key())
		return true
	}
	if m.reached.Before(one.expired.Before) {
		one.expired.After = m.reached
	}
	return !now.Before(m.rest) || m.rest.Sub(now) > restAfter
}

// record remembers how far a step came.
func (s *Service) record(one *step, e store.Expiry, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.marks[one.key()]
	if !ok {
		m.since = now
	}
	if !e.Reached.IsZero() {
		m.reached, one.expired.After = e.Reached, e.Reached
	}
	if !e.More {
		m.rest = now.Add(restAfter)
	}
	s.marks[one.key()] = m
}
