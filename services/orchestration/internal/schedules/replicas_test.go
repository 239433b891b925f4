package schedules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// replica is a process that schedules, with a clock of its own.
type replica struct {
	w         *world
	random    *rand.Rand
	manual    *clock.Manual
	clock     *hookClock
	store     *store.Store
	scheduler *schedules.Scheduler
}

func (w *world) replica(seed uint64) *replica {
	r := &replica{w: w, random: rand.New(rand.NewPCG(seed, 2)), manual: clock.NewManual(began)} // A reproducible test.
	r.clock = &hookClock{Clock: r.manual}
	r.store = w.open(r.clock)
	r.scheduler = w.scheduler(r.store, schedules.DefaultLimits)
	return r
}

// passes schedules until no deployment is due: a pass leaves the rest of a backlog to the next one.
func (r *replica) passes(ctx context.Context) error {
	for {
		if n, err := r.scheduler.Pass(ctx); n == 0 || err != nil {
			return err
		}
	}
}

// step is some passes and the execution of what they wrote. In some steps the clock is an hour off. In some the process is
// killed, at any of the moments at which it reads the time, and another one begins with what is stored.
func (r *replica) step(now time.Time) error {
	r.manual.Set(now)
	switch r.random.IntN(8) {
	case 0:
		r.manual.Advance(time.Hour)
	case 1:
		r.manual.Advance(-time.Hour)
	}
	ctx, kill := context.WithCancel(r.w.Context())
	defer kill()
	killed := r.random.IntN(3) == 0
	if killed {
		r.clock.arm(1+r.random.IntN(200), kill)
	}
	err := r.passes(ctx)
	if err == nil && r.random.IntN(3) > 0 {
		err = execute(ctx, r.scheduler, r.store)
	}
	r.clock.arm(0, nil)
	if killed {
		r.scheduler = r.w.scheduler(r.store, schedules.DefaultLimits)
		return nil
	}
	return err
}

// Two replicas at once, whose clocks jump by an hour and that are killed at any moment, create every run once.
// ORCH_TEST_DEPLOYMENTS sets the number of deployments.
func TestReplicasKilledWhileClocksJump(t *testing.T) {
	t.Parallel()
	deployments := 20
	if text := os.Getenv("ORCH_TEST_DEPLOYMENTS"); text != "" {
		var err error
		deployments, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	w := newWorld(t)
	var all []*orchv1.Deployment
	for i := range deployments {
		all = append(all, w.deployment(fmt.Sprint("d", i),
			cron(fmt.Sprintf("%d * * * *", i%60), "UTC"), interval(37*time.Minute, began.Add(time.Second*time.Duration(i)))))
	}
	replicas := []*replica{w.replica(1), w.replica(2)}
	end := began.Add(24 * time.Hour)
	for now := began; now.Before(end); now = now.Add(10 * time.Minute) {
		w.clock.Set(now)
		errs := make([]error, len(replicas))
		var group sync.WaitGroup
		for i, r := range replicas {
			group.Go(func() { errs[i] = r.step(now) })
		}
		group.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	}
	w.clock.Set(end)
	w.pass(w.scheduler(w.store, schedules.DefaultLimits))
	w.requireOnce(all, end)
}
