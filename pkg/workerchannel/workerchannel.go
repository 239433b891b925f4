// Package workerchannel is what services agree on about the channels of workers.
//
//	orchestration: pool is changed ─▶ live feed: its id ─▶ gateway: the channels of its workers send a snapshot
//
//	orchestration: run waits for a worker ─▶ live feed: its pool's name ─▶ gateway: the channels poll, and send due runs
//
// The feeds promise nothing: a channel that missed a change finds it at the worker's next heartbeat, a run at its next poll.
package workerchannel

import "time"

// Feed is the name of the live feed that tells the ids of work pools that were changed: 16 bytes each.
const Feed = "work-pools"

// RunsFeed is the name of the live feed of work pools whose runs began to wait for a worker. A message is a pool's name.
const RunsFeed = "work-pool-runs"

// RunsAhead is how far ahead of their start the channels read runs, and the longest time between two reads. A run that starts
// later than that needs no message on RunsFeed.
const RunsAhead = 15 * time.Second
