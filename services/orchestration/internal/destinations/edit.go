package destinations

import (
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// quietly returns the decision of a change that keeps the time of the last change. It writes nothing without a difference or an effect.
func quietly(change func(next *orchv1.Destination) ([]store.Effect, error)) store.Decide[*orchv1.Destination] {
	return func(current *orchv1.Destination, _ int64) (*store.Change[*orchv1.Destination], error) {
		next := proto.CloneOf(current)
		effects, err := change(next)
		if err != nil || len(effects) == 0 && proto.Equal(current, next) {
			return nil, err
		}
		return &store.Change[*orchv1.Destination]{Message: next, Effects: effects, Quiet: true}, nil
	}
}
