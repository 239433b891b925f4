package flowruns

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/artifacts"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/logs"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
)

const (
	// kindForget is the effect that deletes the history of a deleted run.
	kindForget = "flow_run_forget"
	// kindDeleteOfFlow is the effect that deletes the runs of a deleted flow.
	kindDeleteOfFlow = "flow_runs_delete"
)

// DeleteFlowRun deletes a run and then its task runs, artifacts, history and logs.
func (s *Service) DeleteFlowRun(ctx context.Context, r *orchv1.DeleteFlowRunRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	s.flush.Flush(ctx, query.FlowRun, ws, id)
	return &emptypb.Empty{}, nil
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	return s.deleteIf(ctx, ws, id, func(*orchv1.FlowRun) bool { return true })
}

// deleteIf deletes a run that still meets a condition; errStays if it does not.
func (s *Service) deleteIf(ctx context.Context, ws, id uuid.UUID, goes func(*orchv1.FlowRun) bool) error {
	db := s.runs.Store()
	var deleted *orchv1.FlowRun
	err := s.runs.Delete(ctx, ws, id, func(current *orchv1.FlowRun) ([]store.Effect, error) {
		if !goes(current) {
			return nil, errStays
		}
		deleted = current
		event, err := events.Publish(ws, events.Lifecycle{
			ID: db.NewID(), Kind: "flow-run", Verb: "deleted", Of: id, Name: current.GetName(), At: db.Now(),
		}.Event(s.vocab))
		if err != nil {
			return nil, err
		}
		return append([]store.Effect{event}, s.dependents(ws, id, current)...), nil
	})
	if err == nil && deleted.GetState().GetName() == rules.AwaitingConcurrencySlot {
		s.slots.withdraw(context.WithoutCancel(ctx), ws, deleted)
	}
	return err
}

// dependents are the effects that delete what belongs to a deleted run.
func (s *Service) dependents(ws, id uuid.UUID, run *orchv1.FlowRun) []store.Effect {
	db := s.runs.Store()
	effects := []store.Effect{taskruns.DeleteOfFlowRun(db, ws, id), artifacts.DeleteOfFlowRun(db, ws, id), db.ResourceEffect(kindForget, ws, id), logs.DeleteOfFlowRun(db, ws, id)}
	return append(effects, s.slots.freedBy(ws, run)...)
}

// DeleteOfFlow is the effect that deletes the runs of a flow.
func DeleteOfFlow(db *store.Store, ws, flow uuid.UUID) store.Effect {
	return db.ResourceEffect(kindDeleteOfFlow, ws, flow)
}

// Forget deletes the history and the inputs of deleted runs.
func (s *Service) Forget(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, runs []uuid.UUID) error {
		return errors.Join(s.history.Forget(ctx, ws, runs...),
			s.inputs.DeleteMany(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.OneOf(runs)}}))
	})
}

// DeleteRuns deletes the runs of deleted flows.
func (s *Service) DeleteRuns(ctx context.Context, effects []store.Effect) error {
	return store.DrainDependents(ctx, s.runs, effects, "flow_id", func(ws, id uuid.UUID) error { return s.delete(ctx, ws, id) })
}

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: KindHistory, Run: s.history.Write, Batch: true},
		{Kind: kindInput, Run: s.WriteInputs},
		{Kind: kindInputDelete, Run: s.DeleteInputs},
		{Kind: kindForget, Run: s.Forget},
		{Kind: kindDeleteOfFlow, Run: s.DeleteRuns},
		{Kind: kindUnstarted, Run: s.DeleteUnstartedRuns},
		{Kind: kindExpire, Run: s.Expire},
		{Kind: kindLost, Run: s.EndChildren},
	}
}
