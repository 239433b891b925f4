package feeds

import (
	"time"

	"github.com/orch-project/orch/pkg/broker"
)

// WorkPools returns the live feed of the ids of work pools that were changed.
func WorkPools(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs("work-pools") }

// WaitingRuns returns the live feed of the names of work pools whose runs began to wait for a worker.
func WaitingRuns(conn *broker.Conn) *broker.Live { return conn.Live("work-pool-runs") }

// Cleanups returns the live feed of the ids of work pools that may have a free clean-up job.
func Cleanups(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs("work-pool-cleanups") }

// RunsAhead is how far ahead of their start gateways read runs, and the longest time between two reads. A run that starts later than
// that needs no message on WaitingRuns.
const RunsAhead = 15 * time.Second
