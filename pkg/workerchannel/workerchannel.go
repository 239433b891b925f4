// Package workerchannel is what services agree on about the channels of workers.
//
//	orchestration: pool is changed ─▶ live feed: its id ─▶ gateway: the channels of its workers send a snapshot
//
//	orchestration: run waits for a worker ─▶ live feed: its pool's name ─▶ gateway: the channels poll, and send due runs
//
//	orchestration: clean-up job is free ─▶ live feed: its pool's id ─▶ gateway: the channels reserve it, and send it
//
// The feeds promise nothing: a channel that missed a change finds it at the worker's next heartbeat, a run or a job at its next
// poll.
package workerchannel

import (
	"time"

	"github.com/orch-project/orch/pkg/broker"
)

// The names of the feeds on the broker.
const (
	poolsName = "work-pools"
	runsName  = "work-pool-runs"
	jobsName  = "work-pool-cleanups"
)

// Pools returns the live feed of the ids of work pools that were changed.
func Pools(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs(poolsName) }

// Runs returns the live feed of work pools whose runs began to wait for a worker. A message is a pool's name.
func Runs(conn *broker.Conn) *broker.Live { return conn.Live(runsName) }

// Cleanups returns the live feed of the ids of work pools that may have a free clean-up job.
func Cleanups(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs(jobsName) }

// RunsAhead is how far ahead of their start the channels read runs, and the longest time between two reads. A run that starts
// later than that needs no message on RunsFeed.
const RunsAhead = 15 * time.Second
