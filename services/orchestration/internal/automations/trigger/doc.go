// Package trigger evaluates the triggers of automations: which firings a sequence of events and the passing of time cause.
//
//	event ──► dedup ──► follows: hold, or ──► leaf: bucket by for_each key ──► firing ──► parent ──► … ──► root
//	clock ──► due buckets ─────────────────────────┘
//
// An event trigger is a leaf. For each value of its for_each labels it counts events in a window:
//
//	reactive    closed ──event──► open ──enough events──► fires; the next window begins (closed with `after`)
//	proactive   closed ──start──► open ──window ends with too few events──► fires
//	                                └──enough events──► closed with `after`, else the next window begins
//
// Compound triggers and sequences collect the firings of their children. The package knows nothing of a database or a
// clock: state is read and written through a [Backend], all times are given. The results of a [Session] are committed in
// steps of which each may be repeated, so a crash between any two of them neither loses nor doubles a firing.
package trigger
