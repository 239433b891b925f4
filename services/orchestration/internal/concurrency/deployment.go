package concurrency

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// nameOfDeployment names the limit that a deployment owns.
func nameOfDeployment(id string) string { return "deployment:" + id }

// LimitFor returns the limit of a deployment: the one that it names, or its own. It is nil if the deployment has none,
// or the limit is inactive.
func (l *Limits) LimitFor(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.ConcurrencyLimitV2, error) {
	limit, err := l.limitOf(ctx, ws, d)
	if errors.Is(err, store.ErrNotFound) || (err == nil && !limit.GetActive()) {
		return nil, nil
	}
	return limit, err
}

func (l *Limits) limitOf(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.ConcurrencyLimitV2, error) {
	switch {
	case d.ConcurrencyLimitId != nil:
		id, err := uuid.Parse(d.GetConcurrencyLimitId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a concurrency limit: %w", err)
		}
		return l.limits.Get(ctx, ws, id)
	case d.ConcurrencySlots != nil:
		limit, err := l.limits.First(ctx, ws, bson.D{{Key: "name", Value: nameOfDeployment(d.GetId())}})
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return limit, err
		}
		id, err := uuid.Parse(d.GetId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a deployment: %w", err)
		}
		return l.follow(ctx, ws, id) // The effect that creates it was not executed yet.
	}
	return nil, store.ErrNotFound
}

// Show returns a limit as deployments present it; nil if no limit has that id.
func (l *Limits) Show(ctx context.Context, ws, id uuid.UUID) (*orchv1.DeploymentConcurrencyLimit, error) {
	limit, err := l.limits.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.present(limit), nil
}

// ShowOf returns the limit of a deployment as the deployment presents it; nil if it has none.
func (l *Limits) ShowOf(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.DeploymentConcurrencyLimit, error) {
	limit, err := l.limitOf(ctx, ws, d)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.present(limit), nil
}

// Free returns the number of free slots of a limit.
func (l *Limits) Free(limit *orchv1.ConcurrencyLimitV2) int64 {
	return max(0, limit.GetLimit()-active(limit, l.limits.Store().Now()))
}

// AcquireOf takes slots of one limit, or returns a *FullError.
func (l *Limits) AcquireOf(ctx context.Context, ws uuid.UUID, limit *orchv1.ConcurrencyLimitV2, a Acquisition) error {
	return l.acquire(ctx, ws, []*orchv1.ConcurrencyLimitV2{limit}, a)
}

// The effects that other documents' writes have on slots.
const (
	// kindRelease releases the slots of a lease.
	kindRelease = "concurrency_release"
	// kindKeep ends a lease while its slots stay taken.
	kindKeep = "concurrency_keep"
	// kindDeployment creates the limit that a deployment owns.
	kindDeployment = "concurrency_deployment"
)

// ReleaseEffect returns the effect that releases the slots of a lease.
func (l *Limits) ReleaseEffect(ws, lease uuid.UUID) store.Effect {
	return l.effect(kindRelease, ws, lease)
}

// KeepEffect returns the effect that ends a lease while its slots stay taken until their release.
func (l *Limits) KeepEffect(ws, lease uuid.UUID) store.Effect { return l.effect(kindKeep, ws, lease) }

// DeploymentEffect returns the effect that gives a deployment its own limit with the slots that the deployment says. slots are
// for replicas of earlier versions of the program, which take them from the effect; nil deletes the limit.
func (l *Limits) DeploymentEffect(ws, deployment uuid.UUID, slots *int64) store.Effect {
	e := l.effect(kindDeployment, ws, deployment)
	n := int64(-1)
	if slots != nil {
		n = *slots
	}
	e.Body = binary.BigEndian.AppendUint64(e.Body, uint64(n))
	return e
}

func (l *Limits) effect(kind string, ws, id uuid.UUID) store.Effect {
	s := l.limits.Store()
	return store.Effect{ID: s.NewID(), At: s.Now(), Kind: kind, Body: append(append([]byte(nil), ws[:]...), id[:]...)}
}

func pair(e store.Effect) (ws, id uuid.UUID, err error) {
	if len(e.Body) < 32 {
		return uuid.Nil, uuid.Nil, store.Permanent(fmt.Errorf("decode effect: %d bytes are not two ids", len(e.Body)))
	}
	return uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:32]), nil
}

func (l *Limits) releaseLeases(ctx context.Context, effects []store.Effect) error {
	return each(effects, func(ws, lease uuid.UUID, _ []byte) error { return l.Release(ctx, ws, lease) })
}

func (l *Limits) keepSlots(ctx context.Context, effects []store.Effect) error {
	return each(effects, func(ws, lease uuid.UUID, _ []byte) error { return l.Keep(ctx, ws, lease) })
}

func each(effects []store.Effect, do func(ws, id uuid.UUID, rest []byte) error) error {
	for _, e := range effects {
		ws, id, err := pair(e)
		if err != nil {
			return err
		}
		if err := do(ws, id, e.Body[32:]); err != nil {
			return err
		}
	}
	return nil
}
