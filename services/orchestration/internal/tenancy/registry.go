package tenancy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Server owns accounts and users: it stands for the whole installation. It is not a workspace, and no request is bound
// to it.
var Server = uuid.MustParse("00000000-0000-8000-8000-0000000000ff")

// Registry has the document stores. Server owns Accounts and Users; an account owns its Workspaces, Memberships,
// ServiceAccounts, Roles and Teams; a workspace owns its Access.
type Registry struct {
	Accounts        *store.Collection[*orchv1.Account]
	Workspaces      *store.Collection[*orchv1.Workspace]
	Users           *store.Collection[*orchv1.User]
	Memberships     *store.Collection[*orchv1.AccountMembership]
	ServiceAccounts *store.Collection[*orchv1.ServiceAccount]
	Roles           *store.Collection[*orchv1.WorkspaceRole]
	Teams           *store.Collection[*orchv1.Team]
	Access          *store.Collection[*orchv1.WorkspaceAccess]

	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	directory  *broker.KV
	flush      outbox.Flusher
	log        *slog.Logger
}

// Deps are the dependencies of a Registry.
type Deps struct {
	Store     *store.Store
	Directory *broker.KV
	// Flush executes the effects of a document immediately.
	Flush      outbox.Flusher
	Vocabulary vocabulary.Vocabulary
	Log        *slog.Logger
}

// New returns the registry.
func New(d Deps) *Registry {
	return &Registry{
		Accounts:        store.NewCollection(d.Store, query.Account, &orchv1.Account{}),
		Workspaces:      store.NewCollection(d.Store, query.Workspace, &orchv1.Workspace{}),
		Users:           store.NewCollection(d.Store, query.User, &orchv1.User{}),
		Memberships:     store.NewCollection(d.Store, query.Membership, &orchv1.AccountMembership{}),
		ServiceAccounts: store.NewCollection(d.Store, query.ServiceAccount, &orchv1.ServiceAccount{}),
		Roles:           store.NewCollection(d.Store, query.WorkspaceRole, &orchv1.WorkspaceRole{}),
		Teams:           store.NewCollection(d.Store, query.Team, &orchv1.Team{}),
		Access:          store.NewCollection(d.Store, query.WorkspaceAccess, &orchv1.WorkspaceAccess{}),
		Store:           d.Store, Vocabulary: d.Vocabulary, directory: d.Directory, flush: d.Flush, log: d.Log,
	}
}

// FlushEffects executes the effects of a change before its call returns, so that new permissions work and revoked ones do
// not. It does not wait for an unavailable broker: the change is stored, its effects follow, and services that need the
// directory refuse requests meanwhile.
func (r *Registry) FlushEffects(ctx context.Context, collection query.Collection, id uuid.UUID) {
	r.flush.Flush(ctx, collection, uuid.Nil, id) // These collections are small and not sharded.
}

// Missing turns ErrNotFound into a status error that names the missing resource: "Workspace not found".
func Missing(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, what+" not found")
	}
	return err
}

// Taken turns a duplicate key into a status error that names the key.
func Taken(err error, text string) error {
	if errors.Is(err, store.ErrDuplicate) {
		return rpc.Detail(http.StatusConflict, text)
	}
	return err
}
