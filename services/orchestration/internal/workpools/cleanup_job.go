package workpools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A clean-up job is made when a run stays in CANCELLING for too long and is set to CANCELLED: its infrastructure may still run.
//
//	            reserve                    acknowledge
//	free ───────────────────▶ reserved ────────────────▶ done
//	 ▲  ◀──── release, lease over ──┤
//	 │                              └── release or lease over at the last delivery ──▶ dead letter
//	 └─ effect of the state CANCELLED
//
// A job is delivered at least once, and has one reservation at a time. It stays in the store after its end, so that a repeated
// effect makes no second one.
const (
	// kindCleanup is the effect that creates a clean-up job.
	kindCleanup = "cleanup_job"
	// teardownKind is the only kind of job.
	teardownKind = "cancelling_timeout_teardown.v1"
	// maxDeliveries is how often a job is delivered before it becomes a dead letter.
	maxDeliveries = 3
	// cleanupKept is how long a job is kept after its creation. An open job that no worker takes for so long is given up.
	cleanupKept = 30 * 24 * time.Hour
	// preferredFor is how long a job is free for workers of its queue alone.
	preferredFor = time.Second
)

// CleanUp returns the effect that creates the clean-up job of a run whose cancellation ran out. state is the id of the state that
// ran out. It returns false for a run without a pool, and for a pool whose infrastructure no worker manages.
func (p *Pools) CleanUp(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun, state string, now time.Time) (effect store.Effect, ok bool, err error) {
	if run.WorkPoolId == nil {
		return store.Effect{}, false, nil
	}
	pool, err := uuid.Parse(run.GetWorkPoolId())
	if err != nil {
		return store.Effect{}, false, fmt.Errorf("read the pool of run %s: %w", run.GetId(), err)
	}
	kind, err := p.PoolType(ctx, ws, pool)
	if err != nil || kind == "" || strings.HasSuffix(kind, ":push") || strings.HasSuffix(kind, ":managed") {
		return store.Effect{}, false, err
	}
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(teardownKind+":"+run.GetId()+":"+state))
	micros := now.UnixMicro()
	effect, err = store.MessageEffect(kindCleanup, id, now, ws, &orchv1.CleanupJob{
		Id: id.String(), Kind: teardownKind, WorkPoolId: pool.String(), WorkQueueId: run.WorkQueueId, FlowRunId: run.GetId(),
		InfrastructurePid: run.InfrastructurePid, CreatedAt: micros, FreeAt: &micros,
	})
	return effect, err == nil, err
}

// createCleanupJobs executes effects of that kind, and wakes the channels of the pools' workers.
func (p *Pools) createCleanupJobs(ctx context.Context, effects []store.Effect) error {
	err := store.InsertMessages(ctx, p.cleanups, effects, func(job *orchv1.CleanupJob) time.Time {
		return time.UnixMicro(job.GetCreatedAt()).Add(cleanupKept)
	})
	if err != nil {
		return err
	}
	for _, effect := range effects {
		job := &orchv1.CleanupJob{}
		ws, err := effect.DecodeMessage(job)
		if err != nil {
			return err
		}
		pool, err := uuid.Parse(job.GetWorkPoolId())
		if err != nil {
			return store.Permanent(fmt.Errorf("read the pool of a clean-up job: %w", err))
		}
		p.notifyCleanup(ws, pool)
	}
	return nil
}
