package graph

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadFlowRunGraphV1 returns the task runs of a flow run with the task runs whose results they used.
func (s *Service) ReadFlowRunGraphV1(ctx context.Context, r *orchv1.ReadFlowRunGraphV1Request) (*orchv1.DependencyResultList, error) {
	ws, id, _, err := s.run(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	now := s.runs.Store().Now()
	list := &orchv1.DependencyResultList{}
	err = s.tasks.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "flow_run_id", Value: store.Binary(id)}}, Sort: bson.D{{Key: "_id", Value: 1}}}, func(run *orchv1.TaskRun) bool {
		list.Dependencies = append(list.Dependencies, &orchv1.DependencyResult{
			Id:                   run.GetId(),
			Name:                 run.GetName(),
			UpstreamDependencies: upstream(run),
			State:                run.GetState(),
			ExpectedStartTime:    run.ExpectedStartTime,
			StartTime:            run.StartTime,
			EndTime:              run.EndTime,
			TotalRunTime:         new(run.GetTotalRunTime()),
			EstimatedRunTime:     new(runs.RunTime(run.GetTotalRunTime(), run.GetState(), now)),
			UntrackableResult:    run.GetState().GetStateDetails().GetUntrackableResult(),
		})
		return int64(len(list.Dependencies)) <= s.maxNodes
	})
	if err != nil {
		return nil, err
	}
	if int64(len(list.Dependencies)) > s.maxNodes {
		return nil, s.tooLarge(r.GetId())
	}
	return list, nil
}

// upstream returns the task runs whose results a task run used, without duplicates, sorted by id.
func upstream(run *orchv1.TaskRun) []*orchv1.TaskInputTaskRun {
	var ids []string
	for _, sources := range run.GetTaskInputs() {
		for _, source := range sources.GetValues() {
			if taskRun := source.GetTaskRun(); taskRun != nil {
				ids = append(ids, taskRun.GetId())
			}
		}
	}
	slices.Sort(ids)
	var list []*orchv1.TaskInputTaskRun
	for _, id := range slices.Compact(ids) {
		list = append(list, &orchv1.TaskInputTaskRun{Id: id})
	}
	return list
}
