// Package concurrency stores limits and grants their slots.
//
// A limit is one document: its number of slots, the number taken, and the holders with a lease. Every change is a
// compare-and-set of that document, so no slot can be taken twice, whichever replica serves the request.
//
//	take a, b:  a.active+n ≤ a.limit? ── yes ─► a: +n, holder ─► b.active+n ≤ b.limit? ── yes ─► both are held
//	                   │ no                                            │ no
//	                   ▼                                               ▼
//	                423, Retry-After ◄──────────────────────── a: −n, no holder
//
// Several limits are taken in the order of their names. If one is full, those taken before are released. A process that
// dies in between leaves holders that expire: the repossessor releases their slots.
//
// A refused request becomes a waiter in the document, in the order of first refusals. Free slots are reserved for the waiters that come
// before a request, until shortly after they are due: so a slot goes to the client that waits longest, from whichever replica.
//
// With a decay, slots become free at a constant rate per second. The document then stores the number at a point in
// time, and every reader computes the current one.
package concurrency
