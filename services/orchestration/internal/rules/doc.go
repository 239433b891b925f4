// Package rules decides on proposed states.
//
// A rule is a pure function on a transition: the run, its current state and the proposed state. It accepts, replaces or
// stops the proposal. No rule reads a store or a clock.
//
//	proposal ──► rule 1 ──► rule 2 ──► … ──► transforms ──► after-hooks, last rule first ──► written
//	               │ REJECT: another state is written instead, or none
//	               │ WAIT:   nothing is written; try again later
//	               └ ABORT:  nothing is written
//
// A policy is an ordered list of rules. A rule applies when the intended transition is in its sets and no earlier rule
// has changed the transition's types. Once a rule replaces the proposal by another type, later rules are skipped. If a
// later rule changes the types, an earlier rule that applied runs its clean-up instead of its after-hook. Universal
// rules and transforms always apply, unless no state is left to write.
//
//	SCHEDULED ─► PENDING ─► RUNNING ─► COMPLETED | FAILED | CRASHED | CANCELLED
//	    ▲                     │  ▲
//	    └──── AwaitingRetry ──┘  └─► PAUSED, CANCELLING
//
// Transitions of flow runs and of task runs share their [Judgement]. Each kind has its own policies and rules. The
// caller reads what task rules need of other documents in advance and passes it as [TaskFacts].
//
// The rules and their order match the open server that existing clients expect.
package rules
