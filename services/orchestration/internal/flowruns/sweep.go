package flowruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// sweepBatch is how many runs a sweep reads at a time.
const sweepBatch = 200

// sweep proposes a state to every run of any workspace that matches, in the order of a field, and is done when a whole
// batch changed nothing. Each proposal is asked again with what is stored when it is written: a run that went on
// meanwhile is left alone. That some fail does not keep the others from being tried.
func (s *Service) sweep(ctx context.Context, filter bson.D, order string, policy rules.Policy, propose func(*orchv1.FlowRun) *orchv1.StateCreate) error {
	var failures []error
	for {
		found, err := s.runs.FirstOfAll(ctx, filter, bson.D{{Key: order, Value: 1}}, sweepBatch)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		changed := 0
		for _, one := range found {
			written, err := s.suggest(ctx, one, policy, propose)
			if err != nil {
				failures = append(failures, err)
			}
			if written {
				changed++
			}
		}
		if len(found) < sweepBatch || changed == 0 || ctx.Err() != nil {
			return errors.Join(failures...)
		}
	}
}

// suggest proposes a state to one run that a sweep found, and reports whether it was written.
func (s *Service) suggest(
	ctx context.Context, run store.Owned[*orchv1.FlowRun], policy rules.Policy, propose func(*orchv1.FlowRun) *orchv1.StateCreate,
) (bool, error) {
	id, err := uuid.Parse(run.Message.GetId())
	if err != nil {
		return false, fmt.Errorf("read the id of a flow run: %w", err)
	}
	t, err := s.transit(ctx, run.Workspace, id, policy, func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
		return propose(current), nil, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && t != nil && t.Written(), err
}
