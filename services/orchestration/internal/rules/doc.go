// Package rules judges proposed states.
//
// A rule is a pure function on a transition: what the run is, what its state is, what is proposed. It lets the
// proposal pass, replaces it, or stops it; nothing here reads a store or a clock.
//
//	proposal ──► rule 1 ──► rule 2 ──► … ──► transforms ──► after-hooks, last rule first ──► written
//	               │ REJECT: another state is written instead, or none
//	               │ WAIT:   nothing is written; try again later
//	               └ ABORT:  nothing is written
//
// A policy is an ordered list of rules. A rule takes part when the transition that the client intended, as a pair of
// state types, is in its sets, and when no earlier rule has changed that pair: once one rule has replaced the
// proposal by another type, those after it are silent. Where a later rule changes the pair, an earlier one that took
// part fizzles: its clean-up runs instead of its after-hook. Universal rules and the transforms take part always,
// unless nothing is left to write.
//
//	SCHEDULED ─► PENDING ─► RUNNING ─► COMPLETED | FAILED | CRASHED | CANCELLED
//	    ▲                     │  ▲
//	    └──── AwaitingRetry ──┘  └─► PAUSED, CANCELLING
//
// A flow run's transition and a task run's share their [Judgement], so that what holds for both is written once; each
// kind has policies and rules of its own. What task rules must know of other documents is read before and given to
// them as [TaskFacts].
//
// The rules and their order are those of the open server that existing clients expect.
package rules
