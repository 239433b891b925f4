// Package retention deletes documents by age: runs by their states, logs, events, artifacts and webhook deliveries.
//
// Each workspace has one policy, a list of rules. Without rules nothing is deleted. A rule names a kind of documents, for
// runs also their states, and the maximum age:
//
//	policy ──► rules ──► steps ──┬─► batch of kind A ──► pause ─┐
//	                             ├─► batch of kind B ──► pause ─┤
//	                             └─► …                          │
//	                  ▲                                         │
//	                  └── until nothing is expired, or the pass ends
//
// The background pass gives each step of each workspace one batch in turn, so a large backlog does not delay the others. A
// pause follows each batch. It bounds the rate, and the part of the time that deletions take from clients.
//
// The package decides when and what; the package of each noun counts and deletes. Both use the window of store.Expired.
// A position that a step reached is remembered in memory, so later passes do not walk over runs that stay. It is only an
// optimisation: another replica begins without it.
package retention
