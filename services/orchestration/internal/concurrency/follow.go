package concurrency

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func (l *Limits) followDeployments(ctx context.Context, effects []store.Effect) error {
	return each(effects, func(ws, deployment uuid.UUID, _ []byte) error {
		_, err := l.follow(ctx, ws, deployment)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

// errChanged means that a deployment has other slots than a moment before.
var errChanged = errors.New("the deployment has changed")

// follow gives a deployment its own limit with the slots that the deployment says, and returns it. It deletes the limit of a
// deployment without slots, and of a deleted one, and returns ErrNotFound.
//
// Replicas can execute it at once, and one that stalled goes on after the others. So each attempt reads the limit first, then the
// deployment, and then writes by compare-and-set, also if nothing differs. Whoever decided on an older deployment has then read an
// older limit, and its write fails.
func (l *Limits) follow(ctx context.Context, ws, deployment uuid.UUID) (*orchv1.ConcurrencyLimitV2, error) {
	name := nameOfDeployment(deployment.String())
	for {
		limit, err := l.limits.First(ctx, ws, bson.D{{Key: "name", Value: name}})
		missing := errors.Is(err, store.ErrNotFound)
		if err != nil && !missing {
			return nil, err
		}
		slots, err := l.slotsOf(ctx, ws, deployment)
		if err != nil {
			return nil, err
		}
		switch {
		case missing && slots == nil:
			return nil, store.ErrNotFound
		case missing:
			limit, err = l.create(ctx, ws, name, deployment, *slots)
		case slots == nil:
			err = l.deleteOf(ctx, ws, limit.GetId(), deployment)
		default:
			limit, err = l.resize(ctx, ws, limit.GetId(), deployment)
		}
		if err == nil && slots == nil {
			return nil, store.ErrNotFound
		}
		if !errors.Is(err, store.ErrDuplicate) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, errChanged) {
			return limit, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// slotsOf returns the slots of a deployment's own limit; nil if it has none, or is deleted.
func (l *Limits) slotsOf(ctx context.Context, ws, deployment uuid.UUID) (*int64, error) {
	d, err := l.deployments.Get(ctx, ws, deployment)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return d.ConcurrencySlots, nil
}

// create inserts a deployment's limit. An insert has no version to compare, so it then compares the deployment again.
func (l *Limits) create(ctx context.Context, ws uuid.UUID, name string, deployment uuid.UUID, slots int64) (*orchv1.ConcurrencyLimitV2, error) {
	limit, err := l.insert(ctx, ws, &orchv1.ConcurrencyLimitV2{Id: l.limits.Store().NewID().String(), Active: true, Name: name, Limit: slots})
	if err != nil {
		return nil, err
	}
	now, err := l.slotsOf(ctx, ws, deployment)
	if err == nil && (now == nil || *now != slots) {
		err = errChanged
	}
	return limit, err
}

// resize sets the slots of a deployment's limit to those of the deployment.
func (l *Limits) resize(ctx context.Context, ws uuid.UUID, id string, deployment uuid.UUID) (*orchv1.ConcurrencyLimitV2, error) {
	return l.decide(ctx, ws, id, func(next *orchv1.ConcurrencyLimitV2) (*change, error) {
		slots, err := l.slotsOf(ctx, ws, deployment)
		if err != nil {
			return nil, err
		}
		if slots == nil {
			return nil, errChanged
		}
		before := proto.CloneOf(next)
		next.Limit, next.Active = *slots, true
		return &change{Message: next, Quiet: proto.Equal(before, next)}, nil
	})
}

// deleteOf deletes the limit of a deployment that has no slots.
func (l *Limits) deleteOf(ctx context.Context, ws uuid.UUID, id string, deployment uuid.UUID) error {
	return l.delete(ctx, ws, id, func() error {
		slots, err := l.slotsOf(ctx, ws, deployment)
		if err == nil && slots != nil {
			err = errChanged
		}
		return err
	})
}
