package quotas

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// countKeys counts the unexpired keys of an account's service accounts and members, up to a limit; 0 means none. The keys of a user count
// only in the account that created the user, so no account uses up the quota of another account.
func (s *Service) countKeys(ctx context.Context, account uuid.UUID, limit int64) (total int64, err error) {
	now := s.registry.Store.Now()
	byID := store.Query{Sort: bson.D{{Key: "_id", Value: 1}}}
	err = s.registry.ServiceAccounts.Each(ctx, account, byID, func(b *orchv1.ServiceAccount) bool {
		total += int64(len(tenancy.Alive(b.GetKeys(), now)))
		return true
	})
	if err != nil {
		return 0, err
	}
	members, err := s.registry.Memberships.Find(ctx, account, byID)
	if err != nil {
		return 0, err
	}
	for _, m := range members {
		if limit > 0 && total >= limit {
			break
		}
		id, err := resourceid.Parse(m.GetUserId())
		if err != nil {
			return 0, err
		}
		u, err := s.registry.Users.Get(ctx, tenancy.Server, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // The user was deleted in the meantime.
		}
		if err != nil {
			return 0, err
		}
		if home, ok := tenancy.AccountOf(u); ok && home == account {
			total += int64(len(tenancy.Alive(u.GetKeys(), now)))
		}
	}
	return total, nil
}
