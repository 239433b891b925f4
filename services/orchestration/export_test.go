package orchestration

import (
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/liveness"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Parts gives tests what they poison.
func (o *Orchestration) Parts() (*store.Store, *outbox.Relay) { return o.store, o.relay }

// RunMonitor returns another monitor of runs, by a clock of the test.
func (o *Orchestration) RunMonitor(every time.Duration, elapsed func() time.Duration) *liveness.Monitor {
	deps := o.runMonitor.MonitorDeps
	deps.Every, deps.Elapsed, deps.Registry = every, elapsed, nil
	return liveness.NewMonitor(deps)
}
