package authz

import (
	"net/http"
	"net/netip"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// Visit is an authenticated request for a page of the dashboard.
type Visit struct {
	// Scope is that of the calls of the page.
	Scope transcode.RequestScope
	// Allowed reports whether the reader may call an operation; false for nil.
	Allowed func(op *transcode.Operation) bool
	// Name is the reader's name, empty without authentication.
	Name string
	// Member is false for a reader who does not belong to the default workspace of a path without ids.
	Member bool
	// Workspaces are those that the reader may choose.
	Workspaces []directory.Choice
}

// Enter authenticates a request for a page and binds it to an account and workspace, as Admit does for the API; nil UUIDs mean the
// defaults. The writer may be nil.
func (a *Authorizer) Enter(w http.ResponseWriter, r *http.Request, account, workspace uuid.UUID) (Visit, error) {
	path := address.WorkspacePath{Prefix: "/api", Account: account, Workspace: workspace}
	if account != uuid.Nil {
		path.Prefix += "/accounts/" + account.String() + "/workspaces/" + workspace.String()
	}
	need, err := needOf(nil, path, nil)
	if err != nil {
		return Visit{}, err
	}
	scope := a.Scope(w, r, path)
	scope.Page = true
	scope.Info.Account, scope.Info.Workspace = need.Account, need.Workspace
	if err := a.authorize(r, &scope.Info, need); err != nil {
		return Visit{}, err
	}
	visit := Visit{Scope: scope, Allowed: func(op *transcode.Operation) bool { return op != nil }, Member: true}
	if a.opts.Mode != authn.ByKey {
		return visit, nil
	}
	caller, err := a.identify(r)
	if err != nil {
		return Visit{}, err
	}
	scopes, member := a.opts.Directory.WorkspaceScopes(caller, need.Account.String(), need.Workspace.String())
	if !member && need.Named {
		return Visit{}, errNotFound
	}
	visit.Name, visit.Member = caller.Name, member && len(scopes) > 0
	visit.Workspaces = a.opts.Directory.Workspaces(caller)
	visit.Allowed = func(op *transcode.Operation) bool { return a.holds(caller, scopes, need.Account, op) }
	return visit, nil
}

// SignIn returns the digest of a credential if it is valid now.
func (a *Authorizer) SignIn(r *http.Request, credential string) (string, error) {
	if a.opts.Mode != authn.ByKey {
		if err := a.opts.Guard.Token(credential); err != nil {
			return "", err
		}
		return a.opts.Guard.PasswordDigest(), nil
	}
	if err := a.authorizeToken(r, credential, nil, authn.Need{}); err != nil {
		return "", err
	}
	return auth.Digest(credential), nil
}

// Owner returns the id of the user or service account whose key has a digest; without keys everybody who signs in is one owner.
func (a *Authorizer) Owner(digest string) string {
	if a.opts.Mode != authn.ByKey {
		if a.opts.Guard.SessionDigest(digest) != nil {
			return ""
		}
		return "password"
	}
	caller, err := a.opts.Directory.IdentifyDigest(digest)
	if err != nil {
		return ""
	}
	return caller.ID
}

// Client returns the client's address, the zero address if unknown.
func (a *Authorizer) Client(r *http.Request) netip.Addr { return a.opts.Addresses.Client(r) }

// identify returns the owner of an admitted request's key.
func (a *Authorizer) identify(r *http.Request) (directory.Caller, error) {
	if signedIn, ok := session.From(r.Context()); ok {
		return a.opts.Directory.IdentifyDigest(signedIn.Digest)
	}
	token, _ := auth.Token(r.Header)
	return a.opts.Directory.Identify(token)
}

// holds reports whether a caller holds the scope of an operation in its realm.
func (a *Authorizer) holds(caller directory.Caller, scopes access.Set, account uuid.UUID, op *transcode.Operation) bool {
	switch {
	case op == nil:
		return false
	case op.Public || op.Scope == "":
		return true
	}
	switch op.Realm {
	case orchv1.Realm_REALM_SELF:
		return access.Self.Has(op.Scope) && (!caller.ServiceAccount || access.SelfOfProgram.Has(op.Scope))
	case orchv1.Realm_REALM_SERVER:
		return caller.Administrator && access.Scopes(op.Realm).Has(op.Scope)
	case orchv1.Realm_REALM_ACCOUNT:
		scopes, _ := a.opts.Directory.AccountScopes(caller, account.String())
		return scopes.Has(op.Scope)
	}
	return scopes.Has(op.Scope)
}
