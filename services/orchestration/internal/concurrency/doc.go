// Package concurrency keeps limits and hands out their slots.
//
// A limit is one document: how many slots there are, how many are taken, and who holds those that come back by
// themselves. Every change is a compare-and-set of that document, so a slot can be taken once only, whichever replica
// asks.
//
//	take a, b:  a.active+n ≤ a.limit? ── yes ─► a: +n, holder ─► b.active+n ≤ b.limit? ── yes ─► both are held
//	                   │ no                                            │ no
//	                   ▼                                               ▼
//	                423, Retry-After ◄──────────────────────── a: −n, no holder
//
// Several limits are taken in the order of their names; where one is full, those taken before are given back. A process
// that dies in between leaves holders that expire: the repossessor gives their slots back.
//
// With a decay, slots come back by themselves, so many a second. What is stored is then the number at a moment, and
// every reader counts on from there.
package concurrency
