package flowruns

import (
	"context"
	"errors"
	"maps"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateFlowRunLabels adds labels to a run; those of the same names are replaced, the others stay.
func (s *Service) UpdateFlowRunLabels(ctx context.Context, r *orchv1.UpdateFlowRunLabelsRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	labels := &orchv1.Labels{}
	if err := restjson.Unmarshal(r.GetLabels(), labels); err != nil {
		if fieldErrors := restjson.AsErrors(err); fieldErrors != nil {
			return nil, rpc.Invalid(fieldErrors.List...)
		}
		return nil, err
	}
	if err := s.CheckOrder(labels.GetValues(), nil); err != nil {
		return nil, err
	}
	_, err = s.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.FlowRun) error {
		if next.Labels == nil {
			next.Labels = map[string]*orchv1.Scalar{}
		}
		maps.Copy(next.Labels, labels.GetValues())
		s.prioritize(next)
		return nil
	}, nil))
	if errors.Is(err, store.ErrNotFound) {
		return nil, unknown(r.GetId())
	}
	return &emptypb.Empty{}, err
}
