package variables

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateVariable changes what was sent.
func (s *Service) UpdateVariable(ctx context.Context, r *orchv1.UpdateVariableRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	return s.update(ctx, ws, id, r.GetUpdateMask().GetPaths(), r.GetVariable())
}

// UpdateVariableByName changes what was sent of the variable of that name.
func (s *Service) UpdateVariableByName(ctx context.Context, r *orchv1.UpdateVariableByNameRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locateName(ctx, r.GetName())
	if err != nil {
		return nil, translate(err)
	}
	return s.update(ctx, ws, id, r.GetUpdateMask().GetPaths(), r.GetVariable())
}

func (s *Service) update(ctx context.Context, ws, id uuid.UUID, mask []string, update *orchv1.VariableUpdate) (*emptypb.Empty, error) {
	_, err := s.variables.Mutate(ctx, ws, id, func(current *orchv1.Variable, _ int64) (*store.Change[*orchv1.Variable], error) {
		next := proto.Clone(current).(*orchv1.Variable)
		for _, field := range mask {
			switch field {
			case "name":
				if update.Name != nil { // A variable cannot be without a name.
					next.Name = update.GetName()
				}
			case "value":
				next.Value = update.Value
			case "tags":
				next.Tags = update.GetTags().GetValues()
			}
		}
		return s.change(ws, current, next)
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// change is what is to be written so that a variable becomes another; nil when it is that already.
func (s *Service) change(ws uuid.UUID, current, next *orchv1.Variable) (*store.Change[*orchv1.Variable], error) {
	if proto.Equal(current, next) {
		return nil, nil
	}
	updated, err := s.lifecycle(ws, next, current, "updated")
	if err != nil {
		return nil, err
	}
	return &store.Change[*orchv1.Variable]{Message: next, Effects: []store.Effect{updated}}, nil
}
