package destinations

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindQueue is the effect of a dead letter whose delivery the database refused.
const KindQueue = "destination.queue"

// deadLetter writes a dead letter for a delivery that cannot be stored.
func (s *Service) deadLetter(ctx context.Context, ws, destination uuid.UUID, d *orchv1.DestinationDelivery, cause error) error {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a delivery: %w", err)
	}
	effect, err := store.MessageEffect(KindQueue, id, d.GetQueued().AsTime(), ws, d)
	if err != nil {
		return fmt.Errorf("write the dead letter of a delivery: %w", err)
	}
	return s.DeadLetter(ctx, destination, effect, 1, cause)
}

// Retry stores the deliveries of dead letters.
func (s *Service) Retry(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		d := &orchv1.DestinationDelivery{}
		ws, err := e.DecodeMessage(d)
		if err != nil {
			return err
		}
		destination, err := uuid.Parse(d.GetDestinationId())
		if err != nil {
			return fmt.Errorf("read the destination of a delivery: %w", err)
		}
		result, err := s.enqueue(ctx, ws, destination, []*orchv1.DestinationDelivery{d}, noEffects)
		if errors.Is(err, store.ErrNotFound) {
			continue // The destination was deleted, and so are its deliveries.
		}
		if err == nil {
			err = result.error()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
