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

// Server is what accounts and users belong to: the whole installation. It is no workspace, and no request is bound to it.
var Server = uuid.MustParse("00000000-0000-8000-8000-0000000000ff")

// Registry keeps the documents. Accounts and Users belong to Server; Workspaces, Memberships, ServiceAccounts, Roles
// and Teams to their account; Access to its workspace.
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

// Deps are what a Registry works with.
type Deps struct {
	Store     *store.Store
	Directory *broker.KV
	// Flush carries out the effects of a document now.
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

// Spread carries the effects of a change out before the call is answered, so that what was made can be used and what
// was taken away cannot. While the broker is away the answer does not wait for it: the change is stored and follows,
// and nobody who needs the directory is served meanwhile.
func (r *Registry) Spread(ctx context.Context, collection query.Collection, id uuid.UUID) {
	r.flush.Flush(ctx, collection, id)
}

// Missing turns "not found" into the answer that names what is missing: "Workspace not found".
func Missing(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, what+" not found")
	}
	return err
}

// Taken turns a unique key that is taken into the answer that names it.
func Taken(err error, text string) error {
	if errors.Is(err, store.ErrDuplicate) {
		return rpc.Detail(http.StatusConflict, text)
	}
	return err
}
