package flows

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateFlow changes what was sent.
func (s *Service) UpdateFlow(ctx context.Context, r *orchv1.UpdateFlowRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	_, err = s.flows.Mutate(ctx, ws, id, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		if !slices.Contains(r.GetUpdateMask().GetPaths(), "tags") || slices.Equal(current.GetTags(), r.GetFlow().GetTags()) {
			return nil, nil
		}
		next := proto.Clone(current).(*orchv1.Flow)
		next.Tags = r.GetFlow().GetTags()
		updated, err := s.lifecycle(ws, next, current, "updated")
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.Flow]{Message: next, Effects: []store.Effect{updated}}, nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
