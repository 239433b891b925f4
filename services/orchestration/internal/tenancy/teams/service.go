// Package teams stores teams: users and service accounts of an account that share roles in workspaces.
//
//	actor ◄── member of ── team ── has role in ──► workspace
//
// The members are part of the team's document. In access lists a team is an actor with its own id, so its role in a
// workspace is an ordinary access. A member's scopes are the union of their own role's and their teams'.
package teams

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

const (
	noun  = "Team"
	taken = "A team with this name exists in the account already."
)

// Service serves teams.
type Service struct {
	orchv1.UnimplementedTeamServiceServer
	registry *tenancy.Registry
	teams    tenancy.Resource[*orchv1.Team]
}

// New returns the service.
func New(registry *tenancy.Registry) *Service {
	return &Service{registry: registry, teams: tenancy.Resource[*orchv1.Team]{
		Registry: registry, Documents: registry.Teams, Kind: directory.Team, Noun: noun, Taken: taken,
		Audit: func(_ request.Info, t *orchv1.Team) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "team", Name: t.GetName()}
		},
	}}
}

// mutate edits a team and executes the effects. Edit returns the audited action, or nil for no change.
func (s *Service) mutate(
	ctx context.Context, info request.Info, id uuid.UUID, edit func(next *orchv1.Team) ([]tenancy.AuditEntry, error),
) (*orchv1.Team, error) {
	reg := s.registry
	var entries []tenancy.AuditEntry
	noting := func(next *orchv1.Team) (err error) {
		entries, err = edit(next)
		return err
	}
	changed, err := reg.Teams.Mutate(ctx, info.Account, id, store.Edit(noting, func(_, _ *orchv1.Team) ([]store.Effect, error) {
		effects := []store.Effect{reg.Follow(directory.Team, info.Account, id)}
		for _, entry := range entries {
			published, err := reg.Audit(info, entry)
			if err != nil {
				return nil, err
			}
			effects = append(effects, published)
		}
		return effects, nil
	}))
	if err != nil {
		return nil, tenancy.Missing(tenancy.Taken(err, taken), noun)
	}
	reg.FlushEffects(ctx, query.Team, id)
	return changed, nil
}

func auditEntry(t *orchv1.Team, id uuid.UUID, action string) tenancy.AuditEntry {
	return tenancy.AuditEntry{Kind: "team", Action: action, ID: id, Name: t.GetName()}
}
