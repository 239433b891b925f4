package flowruns

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxSimple is the maximum number of points of a chart.
const maxSimple = 1000

// maxProbed is the number of task runs up to which CountTaskRunsByFlowRun looks for the subflows of each.
const maxProbed = 2000

// CountTaskRunsByFlowRun counts the task runs of each run; 0 for a run without any. A task run that stands for a subflow
// does not count, because clients show its flow run instead.
func (s *Service) CountTaskRunsByFlowRun(ctx context.Context, r *orchv1.CountTaskRunsByFlowRunRequest) (*orchv1.CountsById, error) {
	all, err := s.countBy(ctx, query.TaskRun, "flow_run_id", r.GetQuery().GetFlowRunIds())
	if err != nil {
		return nil, err
	}
	var total int64
	for _, count := range all.GetCounts() {
		total += count
	}
	switch {
	case total == 0:
		return all, nil
	case total <= maxProbed:
		return all, s.subtractSubflows(ctx, all.GetCounts())
	}
	counts := map[string]int64{}
	for id := range all.GetCounts() {
		counts[id] = 0
	}
	tasks, err := s.tasksOf(ctx, counts, &orchv1.TaskRunFilter{SubflowRuns: &orchv1.ExistsFilter{Exists_: new(false)}})
	if err != nil {
		return nil, err
	}
	err = tasks.Aggregate(ctx, nil, countsBy("flow_run_id"), func(row bson.Raw) error { return addCount(counts, row) })
	return &orchv1.CountsById{Counts: counts}, err
}

// tasksOf selects the task runs of flow runs that match a filter.
func (s *Service) tasksOf(ctx context.Context, counts map[string]int64, filter *orchv1.TaskRunFilter) (*query.Selection, error) {
	filter.FlowRunId = &orchv1.TaskRunFilterFlowRunId{Any_: &orchv1.UuidList{Values: slices.Collect(maps.Keys(counts))}}
	return pagination.NewSource(s.tasks, orchv1.TaskRunSort_TASK_RUN_SORT_ID_DESC).Select(ctx, &orchv1.TaskRunCountQuery{TaskRuns: filter})
}

// subtractSubflows removes the task runs that stand for subflows from the counts of all. It reads the ids of the task runs and
// probes for their subflows. That costs less than to gather all subflows of the workspace, unless there are many task runs.
func (s *Service) subtractSubflows(ctx context.Context, counts map[string]int64) error {
	tasks, err := s.tasksOf(ctx, counts, &orchv1.TaskRunFilter{})
	if err != nil {
		return err
	}
	var ids bson.A
	parents := map[uuid.UUID]string{}
	err = tasks.VisitFields(ctx, nil, []string{"flow_run_id"}, func(doc bson.Raw) error {
		id, err := store.UUID(doc.Lookup("_id"))
		if err != nil {
			return err
		}
		run, err := store.UUID(doc.Lookup("flow_run_id"))
		if err != nil {
			return err
		}
		ids, parents[id] = append(ids, doc.Lookup("_id")), run.String()
		return nil
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	subflows := s.runs.Store().Reader().Aggregate(ctx, query.FlowRun,
		query.Scope(info.Workspace, bson.D{{Key: "parent_task_run_id", Value: bson.D{{Key: "$in", Value: ids}}}}), countsBy("parent_task_run_id"))
	for row, err := range subflows {
		if err != nil {
			return fmt.Errorf("find the subflows of task runs: %w", err)
		}
		id, err := store.UUID(row.Lookup("_id"))
		if err != nil {
			return err
		}
		counts[parents[id]]--
	}
	return nil
}

// CountDeploymentsByFlow counts the deployments of each flow; 0 for a flow without any.
func (s *Service) CountDeploymentsByFlow(ctx context.Context, r *orchv1.CountDeploymentsByFlowRequest) (*orchv1.CountsById, error) {
	return s.countBy(ctx, query.Deployment, "flow_id", r.GetQuery().GetFlowIds())
}

// countBy counts the documents of a collection by the ids in a field.
func (s *Service) countBy(ctx context.Context, collection query.Collection, field string, ids []string) (*orchv1.CountsById, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	among, err := several(ids, func(id string) { counts[id] = 0 })
	if err != nil {
		return nil, err
	}
	rows := s.runs.Store().Reader().Aggregate(ctx, collection, query.Scope(info.Workspace, bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: among}}}}),
		countsBy(field))
	for row, err := range rows {
		if err != nil {
			return nil, fmt.Errorf("count the %ss of each: %w", collection, err)
		}
		if err := addCount(counts, row); err != nil {
			return nil, err
		}
	}
	return &orchv1.CountsById{Counts: counts}, nil
}

// countsBy are the stages that count the documents by the id in a field.
func countsBy(field string) []bson.D {
	return []bson.D{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: "$" + field}, {Key: "count", Value: bson.D{{Key: "$sum", Value: int64(1)}}},
	}}}}
}

// addCount adds a row of countsBy. A selection may return several rows of one id.
func addCount(counts map[string]int64, row bson.Raw) error {
	id, err := store.UUID(row.Lookup("_id"))
	if err != nil {
		return err
	}
	count, _ := row.Lookup("count").AsInt64OK()
	counts[id.String()] += count
	return nil
}

// NextRunsByFlow returns each flow's next scheduled run, including overdue ones.
func (s *Service) NextRunsByFlow(ctx context.Context, r *orchv1.NextRunsByFlowRequest) (*orchv1.NextRuns, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	next := &orchv1.NextRuns{Runs: map[string]*orchv1.NextRun{}}
	among, err := several(r.GetQuery().GetFlowIds(), func(id string) { next.Runs[id] = &orchv1.NextRun{} })
	if err != nil {
		return nil, err
	}
	missing := len(next.Runs)
	if missing == 0 {
		return next, nil
	}
	// Only scheduled runs have a next start. The earliest ones are read until every flow has one.
	err = s.runs.Each(ctx, info.Workspace, store.Query{Filter: bson.D{
		{Key: "next_scheduled_start_time", Value: bson.D{{Key: "$gt", Value: int64(math.MinInt64)}}},
		{Key: "flow_id", Value: bson.D{{Key: "$in", Value: among}}},
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_SCHEDULED)},
	}, Sort: bson.D{{Key: "next_scheduled_start_time", Value: 1}, {Key: "_id", Value: 1}}}, func(run *orchv1.FlowRun) bool {
		if earliest := next.Runs[run.GetFlowId()]; earliest.Run == nil {
			earliest.Run = &orchv1.SimpleNextFlowRun{
				Id: run.GetId(), FlowId: run.GetFlowId(), Name: run.GetName(), StateName: run.GetState().GetName(),
				StateType: run.GetState().GetType(), NextScheduledStartTime: run.NextScheduledStartTime,
			}
			missing--
		}
		return missing > 0
	})
	return next, err
}

// several parses the ids of a request and returns each in canonical form.
func several(ids []string, name func(id string)) (bson.A, error) {
	among := bson.A{}
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read an id: %w", err)
		}
		name(id.String())
		among = append(among, store.Binary(id))
	}
	return among, nil
}

// ReadSimpleFlowRuns returns the matching runs as points of a chart. It skips runs without a state.
func (s *Service) ReadSimpleFlowRuns(ctx context.Context, r *orchv1.ReadSimpleFlowRunsRequest) (*orchv1.SimpleFlowRunList, error) {
	q := r.GetQuery()
	if q.GetLimit() < 0 {
		return nil, rpc.Invalid(rpc.BodyError("greater_than_equal", "Input should be greater than or equal to 0", "limit"))
	}
	order := pagination.Order(q.GetSort(), orchv1.FlowRunSort_FLOW_RUN_SORT_EXPECTED_START_TIME_DESC)
	runs, err := s.source.Read(ctx, q, order, q, min(q.GetLimit(), maxSimple))
	if err != nil {
		return nil, err
	}
	list := &orchv1.SimpleFlowRunList{}
	for _, run := range s.presentAll(runs) {
		at := run.SortStart
		if at == nil || run.GetState() == nil {
			continue
		}
		list.Runs = append(list.Runs, &orchv1.SimpleFlowRun{
			Id: run.GetId(), StateType: run.GetState().GetType(), Timestamp: at,
			Duration: run.GetEstimatedRunTime(), Lateness: run.GetEstimatedStartTimeDelta(),
		})
	}
	return list, nil
}
