// Package taskdispatch defines how services wake task workers for deferred task runs.
//
//	orchestration: run is queued in the store ─▶ live feed: its task key ─▶ gateway: a waiting worker claims it
//
// The feed only wakes workers. The queue is in the store, and waiting workers also poll it.
package taskdispatch

import "time"

// Feed is the name of the live feed with the keys of tasks that have waiting runs.
const Feed = "task-offers"

const (
	// Claim is how long a worker has a run exclusively before it must take it.
	Claim = 30 * time.Second
	// Poll is the polling interval of a waiting worker, woken or not; each poll is also a heartbeat.
	Poll = 10 * time.Second
)
