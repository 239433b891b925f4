package taskruns

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// ReadDashboardTaskRunCounts counts the matching ended runs per minute of the query's time range, which ends now by
// default. It ignores the query's own filter of states.
func (s *Service) ReadDashboardTaskRunCounts(ctx context.Context, r *orchv1.ReadDashboardTaskRunCountsRequest) (*orchv1.TaskRunOutcomesList, error) {
	span := r.GetQuery().GetTaskRuns().GetStartTime()
	if span == nil || span.After_ == nil {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "task_runs.start_time.after_ is required")
	}
	start, end := span.GetAfter_().AsTime().Truncate(time.Minute), s.runs.Store().Now()
	if span.Before_ != nil {
		end = span.GetBefore_().AsTime()
	}
	end = end.Truncate(time.Minute).Add(time.Minute - time.Microsecond)
	q := proto.Clone(r.GetQuery()).(*orchv1.DashboardTaskRunQuery)
	q.TaskRuns.State = &orchv1.TaskRunFilterState{Type: &orchv1.AnyStateTypeFilter{Any_: &orchv1.StateTypeList{Values: ended()}}}
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	return runs.Outcomes(ctx, selection, start, end)
}

// ended are the state types of ended runs.
func ended() []orchv1.StateType {
	var types []orchv1.StateType
	for number := range int32(len(orchv1.StateType_name)) {
		if kind := orchv1.StateType(number); rules.Terminal(kind) {
			types = append(types, kind)
		}
	}
	return types
}

// ReadTaskRunCountsByState counts the matching runs by state type. It skips runs without a state.
func (s *Service) ReadTaskRunCountsByState(ctx context.Context, r *orchv1.ReadTaskRunCountsByStateRequest) (*orchv1.CountByState, error) {
	selection, err := s.source.Select(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	counts := &orchv1.CountByState{}
	kinds := map[string]*int64{
		"SCHEDULED": &counts.Scheduled, "PENDING": &counts.Pending, "RUNNING": &counts.Running,
		"COMPLETED": &counts.Completed, "FAILED": &counts.Failed, "CANCELLED": &counts.Cancelled,
		"CRASHED": &counts.Crashed, "PAUSED": &counts.Paused, "CANCELLING": &counts.Cancelling,
	}
	err = selection.Aggregate(ctx, nil, []bson.D{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: "$state.type"}, {Key: "count", Value: bson.D{{Key: "$sum", Value: int64(1)}}},
	}}}}, func(raw bson.Raw) error {
		var row struct {
			Type  *string `bson:"_id"`
			Count int64   `bson:"count"`
		}
		if err := bson.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("read a count by state: %w", err)
		}
		if row.Type != nil && kinds[*row.Type] != nil {
			*kinds[*row.Type] += row.Count
		}
		return nil
	})
	return counts, err
}

// ReadTaskRunWithFlowRunName returns a run with the name of its flow run, null if it has none.
func (s *Service) ReadTaskRunWithFlowRunName(ctx context.Context, r *orchv1.ReadTaskRunWithFlowRunNameRequest) (*orchv1.UiTaskRun, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	run, err := s.runs.Get(ctx, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	flowRun, err := s.flowRun(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	shown := withFlowRun(present(run, s.runs.Store().Now()))
	if flowRun != nil {
		shown.FlowRunName = new(flowRun.GetName())
	}
	return shown, nil
}

// withFlowRun copies the fields that both messages have.
func withFlowRun(run *orchv1.TaskRun) *orchv1.UiTaskRun {
	shown := &orchv1.UiTaskRun{}
	fields := shown.ProtoReflect().Descriptor().Fields()
	run.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if to := fields.ByName(fd.Name()); to != nil {
			shown.ProtoReflect().Set(to, v)
		}
		return true
	})
	return shown
}
