package quotas

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/quota"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// measureMargin is the time before the deadline of a pass at which it begins no further account.
const measureMargin = 5 * time.Second

// Measure estimates what the accounts with a quota of stored bytes store, those first that were measured longest ago. Accounts for which
// a pass has no time are first in the next one. It returns the number of measurements that differ from the last one.
func (s *Service) Measure(ctx context.Context) (changed int, err error) {
	type due struct {
		account  uuid.UUID
		measured time.Time
	}
	var all []due
	pass := s.registry.Store.Pass(ctx, "measure the stored bytes of an account")
	err = s.registry.Accounts.EachAcross(ctx, store.Query{}, func(_ uuid.UUID, a *orchv1.Account) error {
		if s.defaults.Of(a.GetQuotas(), quota.StoredBytes) <= 0 {
			return nil
		}
		id, err := uuid.Parse(a.GetId())
		if err == nil {
			all = append(all, due{account: id})
		}
		return pass.Record(err, "account", a.GetId())
	})
	if err != nil {
		return 0, err
	}
	for i := range all {
		usage, err := s.read(ctx, all[i].account)
		if pass.Record(err, "account", all[i].account) != nil {
			return 0, pass.Err()
		}
		all[i].measured = usage.GetMeasured().AsTime()
	}
	slices.SortFunc(all, func(a, b due) int { return a.measured.Compare(b.measured) })
	for _, one := range all {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < measureMargin {
			break
		}
		differs, err := s.measure(ctx, one.account)
		if differs {
			changed++
		}
		if pass.Record(err, "account", one.account) != nil {
			break
		}
	}
	return changed, pass.Err()
}

// measure estimates and stores what an account stores.
func (s *Service) measure(ctx context.Context, account uuid.UUID) (changed bool, err error) {
	owners, err := s.owners(ctx, account)
	if err != nil {
		return false, err
	}
	indexes := measured()
	next := &orchv1.AccountUsage{Id: account.String(), Measured: timestamppb.New(s.registry.Store.Now())}
	for _, owner := range owners {
		for _, index := range indexes {
			bytes, err := s.registry.Store.EstimateBytes(ctx, owner, index)
			if err != nil {
				return false, err
			}
			next.StoredBytes += bytes
		}
	}
	_, err = s.usage.Mutate(ctx, account, account, store.Edit(func(u *orchv1.AccountUsage) error {
		changed = u.GetStoredBytes() != next.GetStoredBytes()
		u.StoredBytes, u.Measured = next.GetStoredBytes(), next.GetMeasured()
		return nil
	}, func(_, _ *orchv1.AccountUsage) ([]store.Effect, error) { return nil, nil }))
	if errors.Is(err, store.ErrNotFound) {
		changed = true
		err = s.usage.Insert(ctx, account, next)
	}
	return changed, err
}

// measured returns the collections that are measured, each with an index that has all of its documents by workspace. The others have
// documents of bounded size and number, or leases.
func measured() []query.Index {
	var all []query.Index
	seen := map[query.Collection]bool{query.AccountUsage: true}
	for _, index := range query.Indexes() {
		if !seen[index.Collection] && index.CoversWorkspaces() {
			seen[index.Collection] = true
			all = append(all, index)
		}
	}
	return all
}
