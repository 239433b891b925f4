package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// runBatch is the number of runs of one batch: each has dependents. documentBatch is that of other documents. A run of a batch of
	// 25 costs a quarter more. The store yields the processor between documents.
	runBatch      = 100
	documentBatch = 200
	// passMargin is the time before the deadline at which a pass begins no further batch. On a slow disk a batch takes more than a
	// second. A batch that the deadline interrupts is finished by the relay.
	passMargin = 3 * time.Second
)

// Pass deletes what the policies of all workspaces select, until nothing is left or the context's deadline is near. It
// returns the number of deleted documents. The error of a rule does not delay the others.
func (s *Service) Pass(ctx context.Context) (changed int, err error) {
	now := s.now()
	var due []*step
	unfinished := map[string]float64{}
	err = s.policies.EachAcross(ctx, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}}, func(ws uuid.UUID, policy *orchv1.RetentionPolicy) error {
		for _, one := range steps(ws, policy.GetRules(), now) {
			unfinished[one.kind()] = 0
			if !one.done && s.resume(one, now) {
				due = append(due, one)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	until := time.Now().Add(time.Hour)
	if deadline, ok := ctx.Deadline(); ok {
		until = deadline.Add(-passMargin)
	}
	s.work(ctx, due, until)
	var errs []error
	for _, one := range due {
		changed += int(one.deleted)
		if !one.done || one.failed != nil {
			unfinished[one.kind()]++
		}
		if one.failed != nil {
			errs = append(errs, fmt.Errorf("delete expired %s of workspace %s: %w", one.kind(), one.ws, one.failed))
		}
	}
	for kind, n := range unfinished {
		s.metrics.backlog.WithLabelValues(kind).Set(n)
	}
	return changed, errors.Join(errs...)
}

// work gives each step one batch in turn until all are done, the time is over, or the context ends.
func (s *Service) work(ctx context.Context, all []*step, until time.Time) {
	for active := true; active; {
		active = false
		for _, one := range all {
			if one.done {
				continue
			}
			if ctx.Err() != nil || !time.Now().Before(until) {
				return
			}
			began := time.Now()
			n := s.batch(ctx, one)
			active = active || !one.done
			if n > 0 && !clock.Pause(ctx, pause(n, time.Since(began), s.rate)) {
				return
			}
		}
	}
}

// batch deletes the next documents of a step.
func (s *Service) batch(ctx context.Context, one *step) int64 {
	limit := int64(documentBatch)
	if hasStates(one.rule.GetKind()) {
		limit = runBatch
	}
	expiry, err := s.kinds[one.rule.GetKind()].Delete(ctx, one.ws, one.expired, limit)
	one.deleted += expiry.Deleted
	s.metrics.deleted.WithLabelValues(one.kind()).Add(float64(expiry.Deleted))
	if err != nil {
		one.failed, one.done = err, true
		return expiry.Deleted
	}
	one.done = !expiry.More
	s.record(one, expiry, s.now())
	return expiry.Deleted
}
