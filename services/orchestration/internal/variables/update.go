package variables

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateVariable changes the fields that the request contains.
func (s *Service) UpdateVariable(ctx context.Context, r *orchv1.UpdateVariableRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	return s.update(ctx, ws, id, r.GetUpdateMask().GetPaths(), r.GetVariable())
}

// UpdateVariableByName changes the fields that the request contains of the variable of that name.
func (s *Service) UpdateVariableByName(ctx context.Context, r *orchv1.UpdateVariableByNameRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locateName(ctx, r.GetName())
	if err != nil {
		return nil, translate(err)
	}
	return s.update(ctx, ws, id, r.GetUpdateMask().GetPaths(), r.GetVariable())
}

func (s *Service) update(ctx context.Context, ws, id uuid.UUID, mask []string, update *orchv1.VariableUpdate) (*emptypb.Empty, error) {
	if err := check(update.GetName(), update.Value); err != nil {
		return nil, err
	}
	_, err := s.change(ctx, ws, id, func(next *orchv1.Variable) error {
		if slices.Contains(fieldmask.Apply(next, update, mask), "tags") {
			next.Tags = update.GetTags().GetValues()
		}
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// change edits a variable and tells of it.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Variable) error) (*orchv1.Variable, error) {
	return s.variables.Mutate(ctx, ws, id, store.Edit(edit, func(current, next *orchv1.Variable) ([]store.Effect, error) {
		updated, err := s.lifecycle(ws, next, current, "updated")
		return []store.Effect{updated}, err
	}))
}
