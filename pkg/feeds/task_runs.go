package feeds

import (
	"time"

	"github.com/orch-project/orch/pkg/broker"
)

// TaskRuns returns the live feed of the keys of tasks that have waiting runs.
func TaskRuns(conn *broker.Conn) *broker.Live { return conn.Live("task-offers") }

const (
	// TaskClaim is how long a worker has a run exclusively before it must take it.
	TaskClaim = 30 * time.Second
	// TaskPoll is the polling interval of a waiting worker, woken or not; each poll is also a heartbeat.
	TaskPoll = 10 * time.Second
)
