package taskruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// SetTaskRunState applies the rules to a proposed state: 201 if it wrote a state, 200 if not.
func (s *Service) SetTaskRunState(ctx context.Context, r *orchv1.SetTaskRunStateRequest) (*orchv1.OrchestrationResult, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	t, err := s.transition(ctx, ws, id, r.GetTransition().GetState(), policyOf(r.GetTransition()))
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	if t.MissingFlowRun() {
		return nil, rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf(
			"Unable to read flow run associated with task run: %s, this flow run might have been deleted", r.GetId()))
	}
	if t.Caches {
		s.flush.Flush(ctx, query.TaskRun, ws, id)
	}
	if t.Written() {
		if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
			return nil, err
		}
	}
	return t.Result(), nil
}

// policyOf returns the policy for a proposal, which depends on the stored run.
func policyOf(r *orchv1.TaskRunTransition) func(*orchv1.TaskRun) rules.TaskPolicy {
	return func(current *orchv1.TaskRun) rules.TaskPolicy {
		switch {
		case r.GetForce():
			return rules.MinimalTaskPolicy
		case background(current, r.GetState()):
			return rules.BackgroundTaskPolicy
		}
		return rules.CoreTaskPolicy
	}
}

// background reports whether the run was deferred to a task worker, so no flow run waits for it. The stored parameters
// show it even if the worker's states do not.
func background(run *orchv1.TaskRun, proposal *orchv1.StateCreate) bool {
	details := run.GetState().GetStateDetails()
	return details.GetDeferred() || details.TaskParametersId != nil || proposal.GetStateDetails().GetDeferred()
}

// transition applies the policy of the stored run to a proposal and writes the result. Without a policy it writes
// nothing and returns a nil transition.
func (s *Service) transition(
	ctx context.Context, ws, id uuid.UUID, proposal *orchv1.StateCreate, policy func(*orchv1.TaskRun) rules.TaskPolicy,
) (*rules.TaskTransition, error) {
	db := s.runs.Store()
	var t *rules.TaskTransition
	slots := &slotReservation{limits: s.limits, ws: ws}
	_, err := s.runs.Mutate(ctx, ws, id, func(current *orchv1.TaskRun, revision int64) (*store.Change[*orchv1.TaskRun], error) {
		t = nil
		judges := policy(current)
		if judges == nil {
			return nil, nil
		}
		facts, err := s.facts(ctx, ws, current, proposal, db.Now())
		if err != nil {
			return nil, err
		}
		if err := slots.acquire(ctx, judges, current, proposal, &facts, db); err != nil {
			return nil, err
		}
		t = rules.ProposeTask(current, proposal, facts, db.Now(), db.NewID)
		judges.Judge(t)
		if !t.Written() {
			return nil, nil
		}
		offer(t)
		effects, err := s.effects(ws, t, revision, request.Client(ctx).PublishesTaskRunEvents())
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.TaskRun]{Message: t.Run, Effects: effects}, nil
	})
	slots.release(ctx, t, err)
	if err == nil && t != nil && t.Written() {
		s.announce(ws, t.Run)
	}
	return t, err
}

// facts reads the data that the rules and the event need.
func (s *Service) facts(
	ctx context.Context, ws uuid.UUID, run *orchv1.TaskRun, proposal *orchv1.StateCreate, now time.Time,
) (facts rules.TaskFacts, err error) {
	facts.Random = s.random
	if facts.Held, err = s.heldLeases(ctx, ws, run); err != nil {
		return facts, err
	}
	if facts.FlowRun, err = s.flowRun(ctx, ws, run); err != nil || !rules.AsksCache(proposal) {
		return facts, err
	}
	entries, err := s.cache.Find(ctx, ws, store.Query{Filter: bson.D{
		{Key: "cache_key", Value: proposal.GetStateDetails().GetCacheKey()},
		{Key: "$or", Value: bson.A{
			bson.D{{Key: "expiration", Value: nil}},
			bson.D{{Key: "expiration", Value: bson.D{{Key: "$gt", Value: now.UnixMicro()}}}},
		}},
	}, Sort: bson.D{{Key: "timestamp", Value: -1}, {Key: "_id", Value: -1}}, Limit: 1})
	if err == nil && len(entries) > 0 {
		facts.Cached = entries[0].GetState()
	}
	return facts, err
}

// unknownRun is the 404 of set_state, which differs from that of other operations.
func unknownRun(err error, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf("Task run with id %s not found", id))
	}
	return err
}
