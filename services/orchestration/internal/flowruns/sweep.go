package flowruns

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// sweepBatch is how many runs a sweep reads at a time.
const sweepBatch = 200

// sweepWriters is how many of them it changes at once.
const sweepWriters = 8

// sweepMargin is how long before its deadline a sweep ends: what it has begun must be finished by then.
const sweepMargin = 3 * time.Second

// sweep proposes a state to every run of any workspace that matches, in the order of a field, and returns how many were
// changed. It is done when a whole batch changed nothing, or when its deadline is near; what is left then still matches at
// the next pass. Each proposal is decided anew on what is stored when it is written: a run that went on meanwhile is left
// alone. That some fail does not keep the others from being tried.
func (s *Service) sweep(
	ctx context.Context, filter bson.D, order string, policy rules.Policy, propose func(*orchv1.FlowRun) *orchv1.StateCreate,
) (changed int, err error) {
	var failures []error
	for {
		found, err := s.runs.FirstOfAll(ctx, filter, bson.D{{Key: order, Value: 1}}, sweepBatch)
		if err != nil {
			return changed, errors.Join(append(failures, err)...)
		}
		written, errs := s.suggestAll(ctx, found, policy, propose)
		changed += written
		failures = append(failures, errs...)
		if len(found) < sweepBatch || written == 0 || nearEnd(ctx) {
			return changed, errors.Join(failures...)
		}
	}
}

// nearEnd reports whether a context ends soon, or has ended.
func nearEnd(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < sweepMargin
}

// suggestAll proposes a state to runs side by side, until the end of the context is near.
func (s *Service) suggestAll(
	ctx context.Context, found []store.Owned[*orchv1.FlowRun], policy rules.Policy, propose func(*orchv1.FlowRun) *orchv1.StateCreate,
) (written int, failures []error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	next := make(chan store.Owned[*orchv1.FlowRun])
	for range min(sweepWriters, len(found)) {
		group.Go(func() {
			for one := range next {
				ok, err := s.suggest(ctx, one, policy, propose)
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				}
				if ok {
					written++
				}
				mu.Unlock()
			}
		})
	}
	for i, one := range found {
		if i > 0 && nearEnd(ctx) {
			break
		}
		next <- one
	}
	close(next)
	group.Wait()
	return written, failures
}

// suggest proposes a state to one run that a sweep found, and reports whether it was written.
func (s *Service) suggest(
	ctx context.Context, run store.Owned[*orchv1.FlowRun], policy rules.Policy, propose func(*orchv1.FlowRun) *orchv1.StateCreate,
) (bool, error) {
	id, err := uuid.Parse(run.Message.GetId())
	if err != nil {
		return false, fmt.Errorf("read the id of a flow run: %w", err)
	}
	t, err := s.transit(ctx, run.Workspace, id, policy, func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
		return propose(current), nil, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && t != nil && t.Written(), err
}
