package tenancy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Enterable returns the ids of the workspaces that the caller may enter by an own role or a team's, as stored; nil
// means all of the account's. Some may belong to other accounts, so the caller must filter by account.
func (r *Registry) Enterable(ctx context.Context, info request.Info) (bson.A, error) {
	role, err := r.AccountRole(ctx, info)
	if errors.Is(err, store.ErrNotFound) {
		return bson.A{}, nil
	}
	if err != nil || access.OwnsWorkspaces(role) {
		return nil, err
	}
	actors, err := r.actors(ctx, info)
	if err != nil {
		return nil, err
	}
	ids := bson.A{}
	err = r.Access.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "actor_id", Value: bson.D{{Key: "$in", Value: actors}}}}}, func(ws uuid.UUID, _ *orchv1.WorkspaceAccess) error {
		ids = append(ids, store.Binary(ws))
		return nil
	})
	return ids, err
}

// RevokeAll revokes every role of an actor in the workspaces of an account.
func (r *Registry) RevokeAll(ctx context.Context, account, actor uuid.UUID) error {
	grants, err := store.AllAcross(ctx, r.Access, bson.D{{Key: "actor_id", Value: store.Binary(actor)}})
	pass := r.Store.Pass(ctx, "revoke a role in a workspace")
	for _, one := range grants {
		if pass.Record(r.revokeIn(ctx, account, one.Workspace, one.Message), "workspace", one.Workspace, "access_id", one.Message.GetId()) != nil {
			break
		}
	}
	return errors.Join(err, pass.Err())
}

// revokeIn revokes an access unless its workspace is one of another account.
func (r *Registry) revokeIn(ctx context.Context, account, workspace uuid.UUID, a *orchv1.WorkspaceAccess) error {
	id, err := uuid.Parse(a.GetId())
	if err != nil {
		return fmt.Errorf("read the id of an access: %w", err)
	}
	if _, err = r.Workspaces.Get(ctx, account, workspace); err == nil {
		err = r.Revoke(ctx, workspace, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Revoke deletes an access without an audit event; the causing action publishes one.
func (r *Registry) Revoke(ctx context.Context, workspace, id uuid.UUID) error {
	err := r.Access.Delete(ctx, workspace, id, func(*orchv1.WorkspaceAccess) ([]store.Effect, error) {
		return []store.Effect{r.Follow(directory.Access, workspace, id)}, nil
	})
	if err == nil {
		r.FlushEffects(ctx, query.WorkspaceAccess, id)
	}
	return err
}

// RevokeIn revokes every role in a deleted workspace.
func (r *Registry) RevokeIn(ctx context.Context, workspace uuid.UUID) error {
	return store.Drain(ctx, r.Access, workspace, nil, func(id uuid.UUID) error { return r.Revoke(ctx, workspace, id) })
}

// leaveTeams removes an actor from every team of an account.
func (r *Registry) leaveTeams(ctx context.Context, account, actor uuid.UUID) error {
	teams, err := r.teamsOf(ctx, account, actor)
	if err != nil {
		return err
	}
	for _, id := range teams {
		edit := func(next *orchv1.Team) error {
			next.Memberships = slices.DeleteFunc(next.GetMemberships(), func(m *orchv1.TeamMembership) bool { return m.GetId() == actor.String() })
			return nil
		}
		_, err := r.Teams.Mutate(ctx, account, id, store.Edit(edit, func(_, _ *orchv1.Team) ([]store.Effect, error) {
			return []store.Effect{r.Follow(directory.Team, account, id)}, nil
		}))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		r.FlushEffects(ctx, query.Team, id)
	}
	return nil
}

// KindDismiss is the kind of the effect that removes an actor from the teams of an account and revokes its roles in the
// account's workspaces.
const KindDismiss = "actor_dismissed"

// RemoveActor is an effect of KindDismiss.
func (r *Registry) RemoveActor(account, actor uuid.UUID) store.Effect {
	return r.Store.ResourceEffect(KindDismiss, account, actor)
}

// ExecuteActorRemovals executes effects of KindDismiss.
func (r *Registry) ExecuteActorRemovals(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(account, actor uuid.UUID) error {
		if err := r.leaveTeams(ctx, account, actor); err != nil {
			return err
		}
		return r.RevokeAll(ctx, account, actor)
	})
}
