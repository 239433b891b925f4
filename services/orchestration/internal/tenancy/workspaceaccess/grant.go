package workspaceaccess

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// grant is one role for one actor: exactly one of bot, user and team is set.
type grant struct{ role, bot, user, team string }

// GrantUserAccess grants roles to users.
func (s *Service) GrantUserAccess(ctx context.Context, r *orchv1.GrantUserAccessRequest) (*orchv1.WorkspaceAccessList, error) {
	asked := r.GetGrants().GetList().GetValues()
	if one := r.GetGrants().GetOne(); one != nil {
		asked = append(asked, one)
	}
	var grants []grant
	for _, g := range asked {
		grants = append(grants, grant{role: g.GetWorkspaceRoleId(), user: g.GetUserId()})
	}
	return s.give(ctx, grants)
}

// GrantBotAccess grants roles to service accounts.
func (s *Service) GrantBotAccess(ctx context.Context, r *orchv1.GrantBotAccessRequest) (*orchv1.WorkspaceAccessList, error) {
	asked := r.GetGrants().GetList().GetValues()
	if one := r.GetGrants().GetOne(); one != nil {
		asked = append(asked, one)
	}
	var grants []grant
	for _, g := range asked {
		grants = append(grants, grant{role: g.GetWorkspaceRoleId(), bot: g.GetBotId()})
	}
	return s.give(ctx, grants)
}

// GrantTeamAccess grants roles to teams.
func (s *Service) GrantTeamAccess(ctx context.Context, r *orchv1.GrantTeamAccessRequest) (*orchv1.WorkspaceAccessList, error) {
	asked := r.GetGrants().GetList().GetValues()
	if one := r.GetGrants().GetOne(); one != nil {
		asked = append(asked, one)
	}
	var grants []grant
	for _, g := range asked {
		grants = append(grants, grant{role: g.GetWorkspaceRoleId(), team: g.GetTeamId()})
	}
	return s.give(ctx, grants)
}

// give writes nothing unless every grant is valid.
func (s *Service) give(ctx context.Context, grants []grant) (*orchv1.WorkspaceAccessList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make([]*orchv1.WorkspaceAccess, 0, len(grants))
	for _, g := range grants {
		if err := s.registry.CheckWorkspaceRole(ctx, info, g.role); err != nil {
			return nil, err
		}
		a, err := s.resolve(ctx, info, g)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, a)
	}
	list := &orchv1.WorkspaceAccessList{}
	for _, a := range wanted {
		given, err := s.upsert(ctx, info, a)
		if err != nil {
			return nil, err
		}
		list.Accesses = append(list.Accesses, present(info, given))
	}
	return list, nil
}

// resolve finds the actor of a grant in the account.
func (s *Service) resolve(ctx context.Context, info request.Info, g grant) (*orchv1.WorkspaceAccess, error) {
	a := &orchv1.WorkspaceAccess{WorkspaceRoleId: g.role}
	field := "user_id"
	var err error
	var id uuid.UUID
	switch {
	case g.bot != "":
		field = "bot_id"
		if id, err = resourceid.Parse(g.bot); err == nil {
			var b *orchv1.ServiceAccount
			b, err = s.registry.ServiceAccounts.Get(ctx, info.Account, id)
			a.ActorId, a.BotId = b.GetActorId(), proto.String(b.GetId())
		}
	case g.team != "":
		field = "team_id"
		if id, err = resourceid.Parse(g.team); err == nil {
			var t *orchv1.Team
			t, err = s.registry.Teams.Get(ctx, info.Account, id)
			a.ActorId, a.TeamId = t.GetId(), proto.String(t.GetId())
		}
	default:
		if id, err = resourceid.Parse(g.user); err == nil {
			var m *orchv1.AccountMembership
			m, err = s.registry.Memberships.Get(ctx, info.Account, tenancy.MembershipID(info.Account, id))
			a.ActorId, a.UserId = m.GetActorId(), proto.String(m.GetUserId())
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, the account has nobody of this id", field))
	}
	return a, err
}

// upsert grants an actor a role. An existing access keeps its id.
func (s *Service) upsert(ctx context.Context, info request.Info, wanted *orchv1.WorkspaceAccess) (*orchv1.WorkspaceAccess, error) {
	reg := s.registry
	for range 2 { // A concurrent call may create it between the read and the insert.
		current, err := reg.Access.First(ctx, info.Workspace, bson.D{{Key: "actor_id", Value: store.Binary(uuid.MustParse(wanted.GetActorId()))}})
		if err == nil {
			return s.change(ctx, info, current.GetId(), wanted.GetWorkspaceRoleId())
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		id := reg.Store.NewID()
		a := proto.Clone(wanted).(*orchv1.WorkspaceAccess)
		a.Id = id.String()
		if err = s.access.Insert(ctx, info, info.Workspace, id, a); err == nil {
			return a, nil
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("grant workspace access: %w", store.ErrContention)
}

func (s *Service) change(ctx context.Context, info request.Info, text, role string) (*orchv1.WorkspaceAccess, error) {
	id, err := resourceid.Parse(text)
	if err != nil {
		return nil, err
	}
	return s.access.Edit(ctx, info, info.Workspace, id, "updated", func(next *orchv1.WorkspaceAccess) error {
		if next.GetWorkspaceRoleId() == role {
			return nil
		}
		if err := s.mayTake(ctx, info, next); err != nil {
			return err
		}
		next.WorkspaceRoleId = role
		return nil
	})
}
