package flowruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/isolation"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// messageParentCancelled is the state message of a subflow whose parent was cancelled.
const messageParentCancelled = "The parent flow run was cancelled."

// cancelSubflows cancels the unfinished subflows of cancelled runs. Subflows of deployments have their own process,
// which is asked to stop.
func (s *Service) cancelSubflows(ctx context.Context) (cancelled int, err error) {
	var failures []error
	after := bson.D{}
	for {
		found, err := s.runs.FindAcross(ctx, store.Query{Filter: append(bson.D{
			{Key: "state.type", Value: bson.D{{Key: "$in", Value: runs.States(runs.Active)}}},
			{Key: "parent_task_run_id", Value: bson.D{{Key: "$exists", Value: true}}},
		}, after...), Sort: bson.D{{Key: "_id", Value: 1}}, Limit: sweepBatch})
		if err != nil {
			return cancelled, errors.Join(append(failures, err)...)
		}
		orphans, err := s.ofCancelled(ctx, found)
		if isolation.IsOutage(err) {
			return cancelled, errors.Join(append(failures, err)...)
		}
		failures = append(failures, err)
		written, err := s.suggestAll(ctx, orphans, rules.MinimalFlowPolicy, proposing(cancelSubflow))
		cancelled += written
		failures = append(failures, err)
		if len(found) < sweepBatch || ctx.Err() != nil {
			return cancelled, errors.Join(failures...)
		}
		last, err := uuid.Parse(found[len(found)-1].Message.GetId())
		if err != nil {
			return cancelled, fmt.Errorf("read the id of a flow run: %w", err)
		}
		after = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(last)}}}}
	}
}

func cancelSubflow(current *orchv1.FlowRun) *orchv1.StateCreate {
	return cancellation(current, messageParentCancelled)
}

// ofCancelled returns the subflows whose parents are cancelled, of the workspaces whose parents it could read.
func (s *Service) ofCancelled(ctx context.Context, subflows []store.Owned[*orchv1.FlowRun]) ([]store.Owned[*orchv1.FlowRun], error) {
	byWorkspace := map[uuid.UUID][]store.Owned[*orchv1.FlowRun]{}
	for _, one := range subflows {
		byWorkspace[one.Workspace] = append(byWorkspace[one.Workspace], one)
	}
	var orphans []store.Owned[*orchv1.FlowRun]
	pass := s.runs.Store().Pass(ctx, "read the parents of subflows")
	for ws, runs := range byWorkspace {
		cancelled, err := s.cancelledParents(ctx, ws, runs)
		if pass.Record(err, "workspace", ws) != nil {
			break
		}
		for _, run := range runs {
			if cancelled[run.Message.GetParentTaskRunId()] {
				orphans = append(orphans, run)
			}
		}
	}
	return orphans, pass.Err()
}

// cancelledParents returns the ids of the parent task runs whose flow runs are cancelled.
func (s *Service) cancelledParents(ctx context.Context, ws uuid.UUID, subflows []store.Owned[*orchv1.FlowRun]) (map[string]bool, error) {
	var tasks bson.A
	for _, run := range subflows {
		id, err := uuid.Parse(run.Message.GetParentTaskRunId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a task run: %w", err)
		}
		tasks = append(tasks, store.Binary(id))
	}
	reader := s.runs.Store().Reader()
	tasksOf := map[uuid.UUID][]string{}
	var parents bson.A
	for doc, err := range reader.Stream(ctx, query.TaskRun, query.Scope(ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: tasks}}}}),
		query.StreamOptions{Fields: []string{"flow_run_id"}}) {
		if err != nil {
			return nil, fmt.Errorf("read the parents of subflows: %w", err)
		}
		task, err := store.UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		parent, err := store.UUID(doc.Lookup("flow_run_id"))
		if err != nil { // A task run may have no flow run.
			continue
		}
		tasksOf[parent] = append(tasksOf[parent], task.String())
		parents = append(parents, store.Binary(parent))
	}
	cancelled := map[string]bool{}
	if len(parents) == 0 {
		return cancelled, nil
	}
	for doc, err := range reader.Stream(ctx, query.FlowRun, query.Scope(ws, bson.D{
		{Key: "_id", Value: bson.D{{Key: "$in", Value: parents}}},
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_CANCELLED)},
	}), query.StreamOptions{Fields: []string{"state.type"}}) {
		if err != nil {
			return nil, fmt.Errorf("read the parents of subflows: %w", err)
		}
		parent, err := store.UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		for _, task := range tasksOf[parent] {
			cancelled[task] = true
		}
	}
	return cancelled, nil
}
