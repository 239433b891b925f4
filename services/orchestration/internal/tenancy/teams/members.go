package teams

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// maxMembers bounds the members of one team: they are part of its document.
const maxMembers = 1000

// AddTeamMembers adds all members or none.
func (s *Service) AddTeamMembers(ctx context.Context, r *orchv1.AddTeamMembersRequest) (*orchv1.Team, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	var wanted []*orchv1.TeamMembership
	for i, m := range r.GetMembers().GetMembers() {
		resolved, err := s.resolve(ctx, info, m)
		if errors.Is(err, store.ErrNotFound) {
			return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, the account has nobody of this id and type",
				"members", strconv.Itoa(i), "member_id"))
		}
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, resolved)
	}
	return s.mutate(ctx, info, id, func(next *orchv1.Team) ([]tenancy.AuditEntry, error) {
		var entries []tenancy.AuditEntry
		for _, m := range wanted {
			if indexOf(next, m.GetId()) >= 0 {
				continue
			}
			next.Memberships = append(next.Memberships, m)
			entries = append(entries, memberEntry(next, id, "created"))
		}
		if len(next.GetMemberships()) > maxMembers {
			return nil, rpc.Detail(http.StatusConflict, "A team has at most 1000 members.")
		}
		return entries, nil
	})
}

// resolve returns a user or service account of the account as a member.
func (s *Service) resolve(ctx context.Context, info request.Info, m *orchv1.TeamMember) (*orchv1.TeamMembership, error) {
	id, err := resourceid.Parse(m.GetMemberId())
	if err != nil {
		return nil, err
	}
	out := &orchv1.TeamMembership{Type: m.GetMemberType(), MemberId: id.String()}
	if m.GetMemberType() == orchv1.TeamMemberType_TEAM_MEMBER_TYPE_SERVICE_ACCOUNT {
		b, err := s.registry.ServiceAccounts.Get(ctx, info.Account, id)
		out.Id = b.GetActorId()
		return out, err
	}
	user, err := s.registry.Memberships.Get(ctx, info.Account, tenancy.MembershipID(info.Account, id))
	out.Id = user.GetActorId()
	return out, err
}

// RemoveTeamMember removes a member.
func (s *Service) RemoveTeamMember(ctx context.Context, r *orchv1.RemoveTeamMemberRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	_, err = s.mutate(ctx, info, id, func(next *orchv1.Team) ([]tenancy.AuditEntry, error) {
		at := indexOf(next, r.GetActorId())
		if at < 0 {
			return nil, rpc.Detail(http.StatusNotFound, "Team member not found")
		}
		next.Memberships = slices.Delete(next.GetMemberships(), at, at+1)
		return []tenancy.AuditEntry{memberEntry(next, id, "deleted")}, nil
	})
	return &emptypb.Empty{}, err
}

// indexOf returns the index of a member by its actor id, or -1.
func indexOf(t *orchv1.Team, actor string) int {
	return slices.IndexFunc(t.GetMemberships(), func(m *orchv1.TeamMembership) bool { return m.GetId() == actor })
}

func memberEntry(t *orchv1.Team, id uuid.UUID, action string) tenancy.AuditEntry {
	return tenancy.AuditEntry{Kind: "team-membership", Action: action, ID: id, Name: t.GetName()}
}
