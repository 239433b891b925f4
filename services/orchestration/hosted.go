package orchestration

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/accounts"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/roles"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/serviceaccounts"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/teams"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/users"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/workspaceaccess"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/workspaces"
	"github.com/orch-project/orch/services/orchestration/internal/webhooks"
)

// hosted are the services of the hosted form: accounts and what belongs to them. They serve on every server; without
// API keys there is one owner of everything.
type hosted struct {
	store           *store.Store
	webhooks        *webhooks.Service
	registry        *tenancy.Registry
	accounts        *accounts.Service
	workspaces      *workspaces.Service
	roles           *roles.Service
	users           *users.Service
	serviceAccounts *serviceaccounts.Service
	teams           *teams.Service
	access          *workspaceaccess.Service
}

// openRegistry opens the directory's bucket and creates the default account, workspace and owner on a new database.
func openRegistry(ctx context.Context, deps tenancy.Deps, conn *broker.Conn) (*tenancy.Registry, error) {
	bucket, err := conn.KeyValue(ctx, directory.Bucket, broker.KVConfig{Description: "who may do what, for gateway and hooks"})
	if err != nil {
		return nil, err
	}
	deps.Directory = bucket
	registry := tenancy.New(deps)
	return registry, registry.Bootstrap(ctx)
}

func newHosted(registry *tenancy.Registry, q *quotas.Service, st *store.Store, hooks *webhooks.Service) *hosted {
	h := &hosted{
		registry:        registry,
		store:           st,
		webhooks:        hooks,
		roles:           roles.New(registry),
		users:           users.New(registry, q),
		serviceAccounts: serviceaccounts.New(registry, q, hooks.DeleteOfServiceAccount),
		teams:           teams.New(registry),
		access:          workspaceaccess.New(registry),
	}
	h.workspaces = workspaces.New(registry, h.emptyWorkspace)
	h.accounts = accounts.New(registry, q, hooks.DisableOpen, h.closeAccount)
	return h
}

// handlers returns the effect handlers of accounts and workspaces. A closed account and a workspace to empty block their documents: the
// document that the next effect removes leads to theirs.
func (h *hosted) handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: tenancy.KindDirectory, Run: h.registry.Publish},
		{Kind: tenancy.KindDismiss, Run: h.registry.ExecuteActorRemovals},
		{Kind: accounts.KindEnforce, Run: h.accounts.Enforce},
		{Kind: accounts.KindClose, Run: h.accounts.Close, Blocking: true},
		{Kind: workspaces.KindEmpty, Run: h.workspaces.Empty, Blocking: true},
		{Kind: serviceaccounts.KindUnbind, Run: h.serviceAccounts.Unbind},
	}
}

// hostedCollections are those whose documents have effects.
var hostedCollections = []query.Collection{
	query.Account, query.Workspace, query.User, query.Membership, query.ServiceAccount, query.WorkspaceRole, query.WorkspaceAccess,
	query.Team,
}

func (h *hosted) register(r grpc.ServiceRegistrar) {
	orchv1.RegisterAccountServiceServer(r, h.accounts)
	orchv1.RegisterWorkspaceServiceServer(r, h.workspaces)
	orchv1.RegisterRoleServiceServer(r, h.roles)
	orchv1.RegisterUserServiceServer(r, h.users)
	orchv1.RegisterServiceAccountServiceServer(r, h.serviceAccounts)
	orchv1.RegisterTeamServiceServer(r, h.teams)
	orchv1.RegisterWorkspaceAccessServiceServer(r, h.access)
}

// closeAccount deletes everything that an account which is gone owned: keys first, then what they could reach.
func (h *hosted) closeAccount(ctx context.Context, account uuid.UUID) error {
	for _, deleteOf := range []func(ctx context.Context, account uuid.UUID) error{
		h.serviceAccounts.DeleteOfAccount,
		h.users.DeleteOfAccount,
		h.teams.DeleteOfAccount,
		h.workspaces.DeleteOfAccount,
		h.roles.DeleteOfAccount,
	} {
		if err := deleteOf(ctx, account); err != nil {
			return err
		}
	}
	return h.store.Clear(ctx, account, query.Collections())
}

// emptyWorkspace deletes the documents of a removed workspace: webhooks and roles first, because other services cache them.
func (h *hosted) emptyWorkspace(ctx context.Context, workspace uuid.UUID) error {
	if err := h.webhooks.DeleteOfWorkspace(ctx, workspace); err != nil {
		return err
	}
	if err := h.registry.RevokeIn(ctx, workspace); err != nil {
		return err
	}
	return h.store.Clear(ctx, workspace, query.Collections())
}

// BootstrapOwnerKey creates the owner's API key on an empty database and returns it. It returns "" if the key exists.
// The caller shows the key to the operator.
func (o *Orchestration) BootstrapOwnerKey(ctx context.Context) (string, error) {
	key, err := o.hosted.registry.BootstrapOwnerKey(ctx)
	if key != "" {
		o.hosted.registry.SpreadOwner(ctx)
	}
	return key, err
}

// NewOwnerKey makes another key for the first user, for an operator who lost the others.
func (o *Orchestration) NewOwnerKey(ctx context.Context) (string, error) {
	key, err := o.hosted.registry.NewOwnerKey(ctx)
	if err == nil {
		o.hosted.registry.SpreadOwner(ctx)
	}
	return key, err
}

// DisableAllowlists disables every IP allow list, for an operator who is locked out.
// It returns the number of failures.
func (o *Orchestration) DisableAllowlists(ctx context.Context) (int, error) {
	return o.hosted.accounts.DisableAllowlists(ctx)
}
