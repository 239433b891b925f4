// Package workpools keeps work pools, their queues and their workers, and hands the scheduled runs of a pool to its workers.
//
// A pool has one queue or more. Each queue has a priority, which is unique within the pool; the pool's document holds the
// priorities of all of them, so that moving a queue is one compare-and-set. Workers poll a pool and claim a run by setting
// its state to PENDING; a poll reserves nothing.
//
//	            heartbeat, un-pause with a worker online
//	NOT_READY ───────────────────────────────────────────► READY          a pool; a queue by its polls
//	    ▲  ▲                                                │  │
//	    │  └──────── foreman: no worker online, no poll ────┘  │
//	    └──── un-pause ──── PAUSED ◄──────── pause ────────────┘
//
// [Pools] finds and creates pools and queues for other packages; [Service] serves both APIs; [Foreman] is
// the foreman.
package workpools
