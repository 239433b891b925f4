package artifacts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CountExpired counts expired artifacts by their creation, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.artifacts.Count(ctx, ws, store.Query{Filter: e.Filter("created"), Limit: limit})
}

// DeleteExpired deletes the oldest expired artifacts, at most limit. Each of them causes what any deletion causes, since
// the key follows its newest artifact.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	found, err := s.artifacts.Find(ctx, ws, store.Query{Filter: e.Filter("created"), Sort: bson.D{{Key: "created", Value: 1}, {Key: "_id", Value: 1}}, Limit: limit})
	if err != nil {
		return store.Expiry{}, err
	}
	expiry := store.Expiry{More: int64(len(found)) == limit}
	for _, artifact := range found {
		id, err := resourceid.Parse(artifact.GetId())
		if err != nil {
			return expiry, err
		}
		err = s.delete(ctx, ws, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return expiry, err
		}
		expiry.Deleted++
	}
	return expiry, nil
}
