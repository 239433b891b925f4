package variables

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateVariable changes the fields that the request contains.
func (s *Service) UpdateVariable(ctx context.Context, r *orchv1.UpdateVariableRequest) (*emptypb.Empty, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.update(r.GetUpdateMask().GetPaths(), r.GetVariable()))
}

// UpdateVariableByName changes the fields that the request contains of the variable of that name.
func (s *Service) UpdateVariableByName(ctx context.Context, r *orchv1.UpdateVariableByNameRequest) (*emptypb.Empty, error) {
	return s.withName(ctx, r.GetName(), s.update(r.GetUpdateMask().GetPaths(), r.GetVariable()))
}

func (s *Service) update(mask []string, update *orchv1.VariableUpdate) func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
	return func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		if err := check(update.GetName(), update.Value); err != nil {
			return nil, err
		}
		_, err := s.change(ctx, ws, id, func(next *orchv1.Variable) error {
			if slices.Contains(fieldmask.Apply(next, update, mask), "tags") {
				next.Tags = update.GetTags().GetValues()
			}
			return nil
		})
		return &emptypb.Empty{}, err
	}
}

// change edits a variable and publishes the change.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Variable) error) (*orchv1.Variable, error) {
	return s.variables.Mutate(ctx, ws, id, store.Edit(edit, s.lifecycle.Updated(ctx, ws)))
}
