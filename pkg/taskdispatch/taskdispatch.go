// Package taskdispatch is what services agree on about the offering of deferred task runs to task workers.
//
//	orchestration: run is queued in the store ─▶ live feed: its task key ─▶ gateway: a waiting worker claims it
//
// The feed only wakes those who wait. The queue is in the store, and who waits asks for it from time to time.
package taskdispatch

import "time"

// Feed is the name of the live feed that tells the keys of tasks of which runs wait for a worker.
const Feed = "task-offers"

const (
	// Claim is how long a worker has a run to itself before it has taken it.
	Claim = 30 * time.Second
	// Poll is how often a waiting worker asks whether it was woken or not; each time it is seen to be there.
	Poll = 10 * time.Second
)
