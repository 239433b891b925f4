package workpools

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxOpenRead bounds the open jobs of a pool that one request reads: those that are free for the longest time.
const maxOpenRead = 1000

// ReserveCleanupJob reserves the oldest job of a pool that a worker may handle. Jobs of the worker's own queues come first.
func (s *Service) ReserveCleanupJob(ctx context.Context, r *orchv1.ReserveCleanupJobRequest) (*orchv1.ReserveCleanupJobResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := resourceid.Parse(r.GetWorkPoolId())
	if err != nil {
		return nil, err
	}
	open, err := s.cleanups.Find(ctx, info.Workspace, store.Query{Filter: bson.D{
		{Key: "work_pool_id", Value: store.Binary(pool)}, {Key: "free_at", Value: bson.D{{Key: "$gt", Value: int64(0)}}},
	}, Sort: bson.D{{Key: "free_at", Value: 1}}, Limit: maxOpenRead})
	if err != nil {
		return nil, err
	}
	now := s.cleanups.Store().Now()
	tried := candidates(open, r, now)
	for _, job := range tried {
		reserved, err := s.reserve(ctx, info.Workspace, job, r.GetConsumer(), now)
		if reserved != nil || err != nil {
			return &orchv1.ReserveCleanupJobResponse{Job: reserved}, err
		}
	}
	open = slices.DeleteFunc(open, func(job *orchv1.CleanupJob) bool { return slices.Contains(tried, job) })
	return &orchv1.ReserveCleanupJobResponse{Next: nextFree(open, r, now)}, nil
}

// candidates returns the free jobs that a worker may handle, in the order in which it is to try them. There is none while the worker
// handles as many as it can.
func candidates(open []*orchv1.CleanupJob, r *orchv1.ReserveCleanupJobRequest, now time.Time) []*orchv1.CleanupJob {
	var unreserved []*orchv1.CleanupJob
	handled := int64(0)
	for _, job := range open {
		switch {
		case job.GetFreeAt() > now.UnixMicro():
			if job.Token != nil && job.GetConsumer() == r.GetConsumer() {
				handled++
			}
		case slices.Contains(r.GetKinds(), job.GetKind()) && (preferred(job, r) || !offered(job).After(now)):
			unreserved = append(unreserved, job)
		}
	}
	if handled >= r.GetMaxConcurrency() {
		return nil
	}
	slices.SortFunc(unreserved, func(a, b *orchv1.CleanupJob) int {
		return cmp.Or(cmp.Compare(rank(a, r), rank(b, r)), cmp.Compare(a.GetCreatedAt(), b.GetCreatedAt()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return unreserved
}

// preferred reports whether a worker polls the queue of a job.
func preferred(job *orchv1.CleanupJob, r *orchv1.ReserveCleanupJobRequest) bool {
	return job.WorkQueueId != nil && slices.Contains(r.GetWorkQueueIds(), job.GetWorkQueueId())
}

// offered is when a free job is offered to workers of other queues, too.
func offered(job *orchv1.CleanupJob) time.Time {
	return time.UnixMicro(job.GetFreeAt()).Add(preferredFor)
}

// rank orders jobs of the worker's own queues before all others.
func rank(job *orchv1.CleanupJob, r *orchv1.ReserveCleanupJobRequest) int {
	if preferred(job, r) {
		return 0
	}
	return 1
}

// nextFree is when a worker may find a job that it does not find now; nil if every job waits for something else.
func nextFree(open []*orchv1.CleanupJob, r *orchv1.ReserveCleanupJobRequest, now time.Time) *timestamppb.Timestamp {
	var next time.Time
	for _, job := range open {
		at := time.UnixMicro(job.GetFreeAt())
		if !at.After(now) {
			at = offered(job)
		}
		if slices.Contains(r.GetKinds(), job.GetKind()) && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return nil
	}
	return timestamppb.New(next)
}

// reserve reserves a job that was free, and returns it. It returns nil if another worker was faster, and if the job has been delivered
// as often as may be: it then becomes a dead letter.
func (s *Service) reserve(ctx context.Context, ws uuid.UUID, job *orchv1.CleanupJob, consumer string, now time.Time) (*orchv1.CleanupJob, error) {
	id, err := resourceid.Parse(job.GetId())
	if err != nil {
		return nil, err
	}
	token := rand.Text() + rand.Text()
	stored, err := s.cleanups.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.CleanupJob) error {
		switch {
		case next.FreeAt == nil || next.GetFreeAt() > now.UnixMicro():
		case next.GetDeliveryCount() >= maxDeliveries:
			endJob(next, reasonDeliveries)
		default:
			next.Token, next.Consumer = &token, &consumer
			next.FreeAt = new(now.Add(s.cleanupLease).UnixMicro())
			next.DeliveryCount++
		}
		return nil
	}, nil))
	if err != nil || stored.GetToken() != token {
		return nil, err
	}
	return stored, nil
}

// reasonDeliveries is why a job becomes a dead letter.
const reasonDeliveries = "max_delivery_attempts_reached"

// endJob ends a job. The reason is empty for an acknowledged one.
func endJob(job *orchv1.CleanupJob, reason string) {
	job.FreeAt, job.Token, job.Consumer = nil, nil, nil
	if reason != "" {
		job.DeadLetterReason = &reason
	}
}
