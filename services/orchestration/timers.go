package orchestration

import (
	"context"
	"time"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/services/orchestration/internal/lease"
)

// Timers say how often the server looks for what time has made of runs; 0 turns a look off.
type Timers struct {
	PauseExpirations    time.Duration `env:"ORCH_PAUSE_EXPIRATIONS_EVERY" envDefault:"5s" desc:"How often runs are looked for whose pause is over; 0 turns it off."`
	LateRuns            time.Duration `env:"ORCH_LATE_RUNS_EVERY" envDefault:"5s" desc:"How often runs are looked for that should have started; 0 turns it off."`
	Foreman             time.Duration `env:"ORCH_FOREMAN_EVERY" envDefault:"15s" desc:"How often workers, work pools, work queues and deployments are looked for that nobody hears of any more; 0 turns it off."`
	CancellationCleanup time.Duration `env:"ORCH_CANCELLATION_CLEANUP_EVERY" envDefault:"20s" desc:"How often what cancelled runs left behind is ended; 0 turns it off."`
}

// timers are the workers that do so, each in one replica at a time.
func (o *Orchestration) timers(every Timers) []run.Worker {
	var workers []run.Worker
	for _, timer := range []struct {
		name  string
		every time.Duration
		do    func(context.Context) error
	}{
		{"pause expirations", every.PauseExpirations, o.runs.ExpirePauses},
		{"late runs", every.LateRuns, o.runs.MarkLate},
		{"foreman", every.Foreman, o.pools.CheckReadiness},
		{"cancellation clean-up", every.CancellationCleanup, o.runs.CleanUpCancellations},
	} {
		if timer.every > 0 {
			workers = append(workers, lease.NewTask(o.store, timer.name, timer.every, o.log, timer.do))
		}
	}
	return workers
}
