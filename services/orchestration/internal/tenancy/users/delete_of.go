package users

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// DeleteOfAccount ends the memberships of a deleted account. It also deletes users who are members of no other account
// and do not administer the server: nobody could manage them, and their e-mail addresses would stay taken.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	reg := s.registry
	return store.Drain(ctx, reg.Memberships, account, nil, func(id uuid.UUID) error {
		m, err := reg.Memberships.Get(ctx, account, id)
		if err != nil {
			return err
		}
		// The user is deleted first: after an interruption the membership still leads to the user.
		if err := s.deleteHomeless(ctx, account, m); err != nil {
			return err
		}
		err = reg.Memberships.Delete(ctx, account, id, func(*orchv1.AccountMembership) ([]store.Effect, error) {
			return []store.Effect{reg.Follow(directory.Membership, account, id)}, nil
		})
		if err == nil {
			reg.FlushEffects(ctx, query.Membership, id)
		}
		return err
	})
}

// errStays stops the deletion of a user who administers the server.
var errStays = errors.New("the user administers the server")

func (s *Service) deleteHomeless(ctx context.Context, account uuid.UUID, m *orchv1.AccountMembership) error {
	reg := s.registry
	actor, err := uuid.Parse(m.GetActorId())
	if err != nil {
		return err
	}
	user, err := uuid.Parse(m.GetUserId())
	if err != nil {
		return err
	}
	memberships, err := store.AllAcross(ctx, reg.Memberships, bson.D{{Key: "actor_id", Value: store.Binary(actor)}})
	elsewhere := func(m store.Owned[*orchv1.AccountMembership]) bool { return m.Workspace != account }
	if err != nil || slices.ContainsFunc(memberships, elsewhere) {
		return err
	}
	err = reg.Users.Delete(ctx, tenancy.Server, user, func(current *orchv1.User) ([]store.Effect, error) {
		if current.GetAdministrator() {
			return nil, errStays
		}
		return []store.Effect{reg.Follow(directory.User, tenancy.Server, user)}, nil
	})
	if errors.Is(err, errStays) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		reg.FlushEffects(ctx, query.User, user)
	}
	return err
}
