package workpools

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	ack     = orchv1.CleanupOperation_CLEANUP_OPERATION_ACK
	release = orchv1.CleanupOperation_CLEANUP_OPERATION_RELEASE
	renew   = orchv1.CleanupOperation_CLEANUP_OPERATION_RENEW
)

// stuck creates the clean-up job of a run of a queue whose cancellation ran out; false if there is none for that pool.
func (w *world) stuck(pool *orchv1.WorkPool, queue string) (effects []store.Effect, ok bool) {
	w.Helper()
	run := &orchv1.FlowRun{Id: uuid.NewString(), WorkPoolId: new(pool.GetId()), WorkQueueId: &queue, InfrastructurePid: new("host:1")}
	if pool == nil {
		run.WorkPoolId, run.WorkQueueId = nil, nil
	}
	effect, ok, err := w.service.CleanUp(w.ctx, w.ws, run, uuid.NewString(), w.clock.Now())
	require.NoError(w, err)
	if !ok {
		return nil, false
	}
	effects = []store.Effect{effect}
	require.NoError(w, w.service.createCleanupJobs(w.ctx, effects))
	return effects, true
}

// cleaner is a worker with a channel.
type cleaner struct {
	w    *world
	pool *orchv1.WorkPool
	r    *orchv1.ReserveCleanupJobRequest
}

func (w *world) cleaner(name string, pool *orchv1.WorkPool, concurrency int64, queues ...string) cleaner {
	return cleaner{w, pool, &orchv1.ReserveCleanupJobRequest{
		WorkPoolId: pool.GetId(), WorkQueueIds: queues, Kinds: []string{teardownKind}, Consumer: name, MaxConcurrency: concurrency,
	}}
}

// reserve reserves a job, or returns nil and how long the worker is to wait; 0 means for an announcement.
func (c cleaner) reserve() (job *orchv1.CleanupJob, wait time.Duration) {
	c.w.Helper()
	response, err := c.w.service.ReserveCleanupJob(c.w.ctx, c.r)
	require.NoError(c.w, err)
	if response.Next != nil {
		wait = response.GetNext().AsTime().Sub(c.w.clock.Now())
	}
	return response.GetJob(), wait
}

func (c cleaner) settle(job *orchv1.CleanupJob, token string, operation orchv1.CleanupOperation) string {
	c.w.Helper()
	response, err := c.w.service.SettleCleanupJob(c.w.ctx, &orchv1.SettleCleanupJobRequest{
		WorkPoolId: c.pool.GetId(), Id: job.GetId(), Token: token, Operation: operation, Reason: "test",
	})
	require.NoError(c.w, err)
	if operation == renew && response.GetStatus() == "accepted" {
		require.Equal(c.w, c.w.clock.Now().Add(DefaultCleanupLease), response.GetLeaseExpiresAt().AsTime())
	}
	return response.GetStatus() + " " + response.GetReason()
}

func TestACleanupJobIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := w.pool("p")
	a := w.cleaner("a", pool, 1, pool.GetDefaultQueueId())
	job, wait := a.reserve()
	require.Nil(t, job)
	require.Zero(t, wait, "there is nothing to wait for")

	effects, ok := w.stuck(pool, pool.GetDefaultQueueId())
	require.True(t, ok)
	job, _ = a.reserve()
	require.Equal(t, int64(1), job.GetDeliveryCount())
	require.Equal(t, "host:1", job.GetInfrastructurePid())
	require.GreaterOrEqual(t, len(job.GetToken()), 43, "a token has at least 256 random bits")

	other, wait := w.cleaner("b", pool, 1, pool.GetDefaultQueueId()).reserve()
	require.Nil(t, other, "a job has one reservation")
	require.Equal(t, DefaultCleanupLease, wait)

	w.clock.Advance(DefaultCleanupLease - time.Second)
	require.Equal(t, "accepted ", a.settle(job, job.GetToken(), renew))
	w.clock.Advance(DefaultCleanupLease - time.Second)
	require.Equal(t, "invalid_token reservation_token_mismatch", a.settle(job, "wrong", ack))
	require.Equal(t, "unauthorized work_pool_mismatch", w.cleaner("x", w.pool("other"), 1).settle(job, job.GetToken(), ack))
	require.Equal(t, "accepted ", a.settle(job, job.GetToken(), ack))
	for _, operation := range []orchv1.CleanupOperation{ack, renew, release} {
		require.Equal(t, "not_found message_not_found", a.settle(job, job.GetToken(), operation))
	}
	require.Equal(t, "not_found message_not_found", a.settle(&orchv1.CleanupJob{Id: uuid.NewString()}, "t", ack))

	require.NoError(t, w.service.createCleanupJobs(w.ctx, effects), "the relay may repeat the effect")
	job, _ = a.reserve()
	require.Nil(t, job)
}

func TestACleanupJobIsDeliveredThreeTimes(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(w *world, a cleaner, job *orchv1.CleanupJob) string{
		"released": func(_ *world, a cleaner, job *orchv1.CleanupJob) string {
			return a.settle(job, job.GetToken(), release)
		},
		"lease passed": func(w *world, _ cleaner, _ *orchv1.CleanupJob) string {
			w.clock.Advance(DefaultCleanupLease)
			return ""
		},
		"too late": func(w *world, a cleaner, job *orchv1.CleanupJob) string {
			w.clock.Advance(DefaultCleanupLease)
			return a.settle(job, job.GetToken(), ack)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			pool := w.pool("p")
			a := w.cleaner("a", pool, 1, pool.GetDefaultQueueId())
			w.stuck(pool, pool.GetDefaultQueueId())
			var last string
			var job *orchv1.CleanupJob
			tokens := map[string]bool{}
			for n := range int64(maxDeliveries) {
				job, _ = a.reserve()
				require.Equal(t, n+1, job.GetDeliveryCount())
				tokens[job.GetToken()] = true
				last = giveUp(w, a, job)
			}
			require.Len(t, tokens, maxDeliveries)
			if last != "" {
				require.Equal(t, "dead_lettered max_delivery_attempts_reached", last)
			}
			again, wait := a.reserve()
			require.Nil(t, again)
			require.Zero(t, wait)
			require.Equal(t, "not_found message_not_found", a.settle(job, job.GetToken(), ack))
			stored, err := w.service.cleanups.Get(w.ctx, w.ws, uuid.MustParse(job.GetId()))
			require.NoError(t, err)
			require.Equal(t, reasonDeliveries, stored.GetDeadLetterReason())
		})
	}
}

func TestCleanupJobsGoToWorkersWithRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := w.pool("p")
	queue := w.queue("p", "q", 2)
	byDefault, byQueue := w.cleaner("default", pool, 2, pool.GetDefaultQueueId()), w.cleaner("q", pool, 2, queue.GetId())
	for range 3 {
		w.stuck(pool, queue.GetId())
		w.clock.Advance(time.Millisecond)
	}
	job, wait := byDefault.reserve()
	require.Nil(t, job, "workers of the queue come first")
	require.Positive(t, wait)
	require.Less(t, wait, preferredFor)
	first, _ := byQueue.reserve()
	second, _ := byQueue.reserve()
	require.Less(t, first.GetCreatedAt(), second.GetCreatedAt(), "the oldest job first")
	third, _ := byQueue.reserve()
	require.Nil(t, third, "the worker handles two at once")

	w.clock.Advance(preferredFor)
	third, _ = byDefault.reserve()
	require.NotNil(t, third, "a job of another queue, if nobody else takes it")
	require.Equal(t, "accepted ", byQueue.settle(third, third.GetToken(), ack), "any channel of the pool may acknowledge")
	byDefault.r.Kinds = []string{"pending_claim_teardown.v1"}
	w.clock.Advance(time.Hour)
	job, wait = byDefault.reserve()
	require.Nil(t, job, "no job of a kind that the worker does not handle")
	require.Zero(t, wait)
}

func TestRunsWithoutAWorkerHaveNoCleanupJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []string{"x:push", "x:managed"} {
		pool, err := w.service.CreateWorkPool(w.ctx, &orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: kind, Type: kind}})
		require.NoError(t, err)
		_, ok := w.stuck(pool, pool.GetDefaultQueueId())
		require.False(t, ok, kind)
	}
	_, ok := w.stuck(nil, "")
	require.False(t, ok, "without a pool")
	_, ok = w.stuck(&orchv1.WorkPool{Id: uuid.NewString()}, uuid.NewString())
	require.False(t, ok, "a pool that was deleted")
}
