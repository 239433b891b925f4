package workpools

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateWorkPool changes the fields that were sent. Of a reserved pool only the limit and the pause can be changed.
func (s *Service) UpdateWorkPool(ctx context.Context, r *orchv1.UpdateWorkPoolRequest) (*emptypb.Empty, error) {
	mask, update := r.GetUpdateMask().GetPaths(), r.GetWorkPool()
	if reserved(r.GetName()) && slices.ContainsFunc(mask, func(field string) bool { return field != "is_paused" && field != "concurrency_limit" }) {
		return nil, rpc.Detail(http.StatusForbidden,
			"Work pools starting with 'Prefect' are reserved for internal use and can only be updated to set concurrency limits or pause.")
	}
	ws, pool, err := s.locate(ctx, r.GetName())
	if err != nil {
		return nil, err
	}
	if err := s.checkTemplate(ctx, ws, update.GetBaseJobTemplate(), false); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.changePool(ctx, ws, pool, func(next *orchv1.WorkPool) error {
		if slices.Contains(fieldmask.Apply(next, update, mask), "storage_configuration") || next.StorageConfiguration == nil {
			next.StorageConfiguration = &orchv1.WorkPoolStorageConfiguration{}
		}
		return nil
	}, slices.Contains(mask, "is_paused") && update.IsPaused != nil)
}

// changePool edits a pool and publishes it. With pauses, the change sets or ends a pause, which is published even when the
// pool was paused before.
func (p *Pools) changePool(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, edit func(next *orchv1.WorkPool) error, pauses bool) error {
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return err
	}
	ready := false
	if pauses {
		if ready, err = p.hasOnlineWorker(ctx, ws, id); err != nil {
			return err
		}
	}
	_, err = p.pools.Mutate(ctx, ws, id, func(current *orchv1.WorkPool, _ int64) (*store.Change[*orchv1.WorkPool], error) {
		next := proto.CloneOf(current)
		if err := edit(next); err != nil {
			return nil, err
		}
		var effects []store.Effect
		payload, err := changes(current, next, poolFields)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			updated, err := p.poolEvent(ws, next, "updated", payload)
			if err != nil {
				return nil, err
			}
			effects = append(effects, updated)
		}
		if pauses && current.Status != nil {
			next.Status = statusOf(next.GetIsPaused(), ready).Enum()
			published, err := p.poolStatusEvent(ws, next)
			if err != nil {
				return nil, err
			}
			effects = append(effects, published)
		}
		if len(effects) == 0 && proto.Equal(current, next) {
			return nil, nil
		}
		return &store.Change[*orchv1.WorkPool]{Message: next, Effects: effects}, nil
	})
	if err != nil {
		return translatePool(err, pool.GetName())
	}
	p.notify(ws, id)
	return nil
}

func statusOf(paused, ready bool) orchv1.WorkPoolStatus {
	switch {
	case paused:
		return orchv1.WorkPoolStatus_WORK_POOL_STATUS_PAUSED
	case ready:
		return orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY
	}
	return orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY
}

// hasOnlineWorker tells whether a worker of a pool is alive.
func (p *Pools) hasOnlineWorker(ctx context.Context, ws, pool uuid.UUID) (bool, error) {
	n, err := p.workers.Count(ctx, ws, store.Query{Filter: bson.D{{Key: "work_pool_id", Value: store.Binary(pool)}, {Key: "status", Value: wordOnline}}})
	return n > 0, err
}
