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
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/accounts"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/roles"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/serviceaccounts"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/teams"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/users"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/workspaceaccess"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/workspaces"
)

// hosted are the services of the hosted form: accounts and what belongs to them. They serve on every server; without
// API keys there is one owner of everything.
type hosted struct {
	registry        *tenancy.Registry
	accounts        *accounts.Service
	workspaces      *workspaces.Service
	roles           *roles.Service
	users           *users.Service
	serviceAccounts *serviceaccounts.Service
	teams           *teams.Service
	access          *workspaceaccess.Service
}

// openRegistry opens the directory's bucket and makes what is first on a new database.
func (o *Orchestration) openRegistry(ctx context.Context, cfg Config, conn *broker.Conn) (*tenancy.Registry, error) {
	bucket, err := conn.KeyValue(ctx, directory.Bucket, broker.KVConfig{Description: "who may do what, for gateway and hooks"})
	if err != nil {
		return nil, err
	}
	registry := tenancy.New(tenancy.Deps{Store: o.store, Directory: bucket, Flush: o.flush, Vocabulary: cfg.Vocabulary, Log: o.log})
	return registry, registry.Bootstrap(ctx)
}

// host makes the services; webhooks are made before them.
func (o *Orchestration) host(registry *tenancy.Registry) {
	o.hosted = hosted{
		registry:        registry,
		accounts:        accounts.New(registry, o.webhooks.DisableOpen, o.closeAccount),
		workspaces:      workspaces.New(registry, o.emptyWorkspace),
		roles:           roles.New(registry),
		users:           users.New(registry),
		serviceAccounts: serviceaccounts.New(registry, o.webhooks.DeleteOfServiceAccount),
		teams:           teams.New(registry),
		access:          workspaceaccess.New(registry),
	}
}

// handlers are what the services carry out.
func (h hosted) handlers() outbox.Handlers {
	return outbox.Handlers{
		tenancy.KindDirectory:      h.registry.Publish,
		tenancy.KindDismiss:        h.registry.CarryOutDismissals,
		accounts.KindEnforce:       h.accounts.Enforce,
		accounts.KindClose:         h.accounts.Close,
		workspaces.KindEmpty:       h.workspaces.Empty,
		serviceaccounts.KindUnbind: h.serviceAccounts.Unbind,
	}
}

// hostedCollections are those whose documents have effects.
var hostedCollections = []query.Collection{
	query.Account, query.Workspace, query.User, query.Membership, query.ServiceAccount, query.WorkspaceRole, query.WorkspaceAccess,
	query.Team,
}

func (h hosted) register(r grpc.ServiceRegistrar) {
	orchv1.RegisterAccountServiceServer(r, h.accounts)
	orchv1.RegisterWorkspaceServiceServer(r, h.workspaces)
	orchv1.RegisterRoleServiceServer(r, h.roles)
	orchv1.RegisterUserServiceServer(r, h.users)
	orchv1.RegisterServiceAccountServiceServer(r, h.serviceAccounts)
	orchv1.RegisterTeamServiceServer(r, h.teams)
	orchv1.RegisterWorkspaceAccessServiceServer(r, h.access)
}

// closeAccount deletes everything that an account which is gone owned: keys first, then what they could reach.
func (o *Orchestration) closeAccount(ctx context.Context, account uuid.UUID) error {
	for _, deleteOf := range []func(ctx context.Context, account uuid.UUID) error{
		o.hosted.serviceAccounts.DeleteOfAccount,
		o.hosted.users.DeleteOfAccount,
		o.hosted.teams.DeleteOfAccount,
		o.hosted.workspaces.DeleteOfAccount,
		o.hosted.roles.DeleteOfAccount,
	} {
		if err := deleteOf(ctx, account); err != nil {
			return err
		}
	}
	return o.store.Clear(ctx, account, query.Collections())
}

// emptyWorkspace deletes everything in a workspace that is gone: first what others know of, then the rest.
func (o *Orchestration) emptyWorkspace(ctx context.Context, workspace uuid.UUID) error {
	if err := o.webhooks.DeleteOfWorkspace(ctx, workspace); err != nil {
		return err
	}
	if err := o.hosted.registry.RevokeIn(ctx, workspace); err != nil {
		return err
	}
	return o.store.Clear(ctx, workspace, query.Collections())
}

// Welcome makes the first user's key, the first time that it is called on a database, and returns it: the caller shows
// it to the operator. It returns an empty text ever after.
func (o *Orchestration) Welcome(ctx context.Context) (string, error) {
	key, err := o.hosted.registry.Welcome(ctx)
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

// OpenAllowlists lets all accounts be used from everywhere, for an operator who has no address that is allowed any more.
// It tells how many could not.
func (o *Orchestration) OpenAllowlists(ctx context.Context) (int, error) {
	return o.hosted.accounts.OpenAllowlists(ctx)
}
