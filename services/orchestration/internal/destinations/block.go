package destinations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// withSubscriptions is the condition of destinations that are not those of blocks.
var withSubscriptions = bson.E{Key: "block_document_id", Value: nil}

// QueueForBlock implements action.Deliveries. The destination of a block has the id of the block, and is stored before its first delivery.
func (s *Service) QueueForBlock(ctx context.Context, ws uuid.UUID, to *orchv1.Destination, deliveries []*orchv1.DestinationDelivery) error {
	id, err := uuid.Parse(to.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a block: %w", err)
	}
	result, err := s.enqueue(ctx, ws, id, deliveries, noEffects)
	if errors.Is(err, store.ErrNotFound) {
		if err := s.createForBlock(ctx, ws, to); err != nil {
			return err
		}
		result, err = s.enqueue(ctx, ws, id, deliveries, noEffects)
	}
	if err == nil {
		err = result.error()
	}
	if err != nil {
		return err
	}
	for _, i := range result.before {
		stored, err := uuid.Parse(deliveries[i].GetId())
		if err != nil {
			return fmt.Errorf("read the id of a delivery: %w", err)
		}
		_, err = s.deliveries.Mutate(ctx, ws, stored, store.Edit(func(next *orchv1.DestinationDelivery) error {
			if next.GetState() != orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED {
				return nil
			}
			return s.resend(next)
		}, nil))
		if err != nil {
			return err
		}
	}
	if len(result.before) == 0 {
		return nil
	}
	return s.makeDue(ctx, ws, id)
}

// createForBlock stores the destination of a block. Another one may have its name: then the id of the block follows the name.
func (s *Service) createForBlock(ctx context.Context, ws uuid.UUID, to *orchv1.Destination) error {
	d := proto.CloneOf(to)
	d.Enabled, d.RetryFor = true, int64(egress.RetryFor/time.Second)
	err := s.destinations.Insert(ctx, ws, d)
	if errors.Is(err, store.ErrDuplicate) {
		d.Name += " " + d.GetId()
		err = s.destinations.Insert(ctx, ws, d)
	}
	if errors.Is(err, store.ErrDuplicate) {
		return nil // Another action has just stored it.
	}
	return err
}

// removeUnused deletes the enabled destination of a block that has no deliveries any more. The next action stores it again.
func (s *Service) removeUnused(ctx context.Context, ws, id uuid.UUID, d *orchv1.Destination) error {
	if d.BlockDocumentId == nil || !d.GetEnabled() {
		return nil
	}
	n, err := s.deliveries.Count(ctx, ws, store.Query{Filter: deliveriesOf(id), Limit: 1})
	if err != nil || n > 0 {
		return err
	}
	return s.destinations.Delete(ctx, ws, id, func(current *orchv1.Destination) ([]store.Effect, error) {
		if current.GetSequence() != d.GetSequence() {
			return nil, errChanged
		}
		return nil, nil
	})
}

// ownedByBlock is the error of a change that a destination of a block does not have.
func ownedByBlock(d *orchv1.Destination) error {
	if d.BlockDocumentId == nil {
		return nil
	}
	return rpc.Detail(http.StatusConflict, fmt.Sprintf("The destination is that of the block document %s, which has its settings; it can only be enabled and disabled.", d.GetBlockDocumentId()))
}
