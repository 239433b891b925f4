// Package users stores users with their API keys, and their memberships of accounts.
//
// A user's profile and keys are visible only to that user; for others they return 404. The other members of an account
// see the membership.
package users

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service serves users.
type Service struct {
	orchv1.UnimplementedUserServiceServer
	registry *tenancy.Registry
	quotas   *quotas.Service
}

// New returns the service.
func New(registry *tenancy.Registry, q *quotas.Service) *Service {
	return &Service{registry: registry, quotas: q}
}

// self returns the user of a call, who must be the caller. Without API keys every user passes.
func self(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	parsed, err := resourceid.Parse(id)
	if err == nil && info.Caller.Known() && (info.Caller.ServiceAccount || info.Caller.ID != parsed) {
		err = store.ErrNotFound
	}
	return info, parsed, tenancy.Missing(err, "User")
}

// me returns the caller's user; without API keys, the first user.
func me(info request.Info) uuid.UUID {
	if info.Caller.Known() {
		return info.Caller.ID
	}
	return tenancy.OwnerID
}

// mutate edits a user and executes the effects. Edit returns the audited action.
func (s *Service) mutate(ctx context.Context, info request.Info, id uuid.UUID, edit func(next *orchv1.User) (tenancy.AuditEntry, error)) error {
	reg := s.registry
	if info.Account == uuid.Nil { // A user's own action is audited in the first of their accounts.
		accounts, err := s.myAccounts(ctx, info)
		if err != nil {
			return err
		}
		if len(accounts) > 0 {
			info.Account = accounts[0]
		}
	}
	var done tenancy.AuditEntry
	noting := func(next *orchv1.User) (err error) {
		done, err = edit(next)
		return err
	}
	_, err := reg.Users.Mutate(ctx, tenancy.Server, id, store.Edit(noting, func(_, _ *orchv1.User) ([]store.Effect, error) {
		return reg.Effects(info, reg.Follow(directory.User, tenancy.Server, id), done)
	}))
	if err != nil {
		return err
	}
	reg.FlushEffects(ctx, query.User, id)
	return nil
}
