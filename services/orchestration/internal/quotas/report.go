package quotas

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/quota"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Report returns the quotas of an account with their use. The use of events is not counted, and bytes are measured only for accounts
// with a quota.
func (s *Service) Report(ctx context.Context, a *orchv1.Account) ([]*orchv1.AccountQuota, error) {
	account, err := uuid.Parse(a.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of an account: %w", err)
	}
	var list []*orchv1.AccountQuota
	for _, name := range quota.Names() {
		one := &orchv1.AccountQuota{Name: string(name), Limit: s.Limit(a, name)}
		if kind, ok := s.counted[name]; ok {
			used, err := kind.count(ctx, account, 0)
			if err != nil {
				return nil, err
			}
			one.Used = &used
		}
		if name == quota.StoredBytes && one.Limit != nil {
			usage, err := s.read(ctx, account)
			if err != nil {
				return nil, err
			}
			if usage != nil {
				one.Used = &usage.StoredBytes
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Limit returns the limit of an account, nil for none.
func (s *Service) Limit(a *orchv1.Account, name quota.Name) *int64 {
	if limit := s.defaults.Of(a.GetQuotas(), name); limit > 0 {
		return &limit
	}
	return nil
}
