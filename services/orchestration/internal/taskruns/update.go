package taskruns

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateTaskRun changes the name; it cannot change the state.
func (s *Service) UpdateTaskRun(ctx context.Context, r *orchv1.UpdateTaskRunRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err == nil {
		_, err = s.runs.Mutate(ctx, ws, id, func(current *orchv1.TaskRun, _ int64) (*store.Change[*orchv1.TaskRun], error) {
			name := r.GetTaskRun().GetName()
			if !slices.Contains(r.GetUpdateMask().GetPaths(), "name") || name == current.GetName() {
				return nil, nil
			}
			next := proto.Clone(current).(*orchv1.TaskRun)
			next.Name = name
			return &store.Change[*orchv1.TaskRun]{Message: next}, nil
		})
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, "Task run not found")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}
