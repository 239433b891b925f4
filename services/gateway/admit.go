package gateway

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// requestScope is what the gateway knows of a request before it matches an operation.
type requestScope struct {
	info request.Info
	path address.WorkspacePath
	// page marks a request for a page, whose path names the page's workspace. Its calls name operations and have no path.
	page bool
}

// pathOf returns the path of a call. A page calls operations of accounts and users as clients do: without a workspace.
func (b requestScope) pathOf(op *transcode.Operation) address.WorkspacePath {
	if b.page && op != nil && op.Realm != orchv1.Realm_REALM_UNSPECIFIED {
		return address.WorkspacePath{Prefix: "/api"}
	}
	return b.path
}

type requestScopeKey struct{}

// admit authorizes a call and binds it to its account and workspace.
func (g *Gateway) admit(r *http.Request, op *transcode.Operation, vars map[string]string) (context.Context, error) {
	b, _ := r.Context().Value(requestScopeKey{}).(requestScope)
	path := b.pathOf(op)
	need, err := needOf(op, path, vars)
	if err != nil {
		if stranger := g.authorize(r, nil, authn.Need{}); stranger != nil {
			return nil, stranger
		}
		return nil, err
	}
	b.info.Account, b.info.Workspace = need.Account, need.Workspace
	if path.Account != uuid.Nil || !isProbe(op) && (g.mode != authn.ByKey || op == nil || !op.Public) {
		if err := g.authorize(r, &b.info, need); err != nil {
			return nil, err
		}
	}
	if op != nil && !op.AnyVersion {
		if err := authn.Version(r.Header); err != nil {
			return nil, err
		}
	}
	if op != nil && !op.ReadOnly {
		if err := g.refuse(r, b.info, g.cfg.Vocabulary.Refusal); err != nil {
			return nil, err
		}
	}
	return request.Outgoing(r.Context(), b.info), nil
}

// permit authorizes an additional scope for an admitted call, in the same realm as the operation's own scope.
func (g *Gateway) permit(r *http.Request, op *transcode.Operation, vars map[string]string, scope string) error {
	if g.mode != authn.ByKey {
		return nil // Without keys, every authenticated caller has every scope.
	}
	b, _ := r.Context().Value(requestScopeKey{}).(requestScope)
	need, err := needOf(op, b.pathOf(op), vars)
	if err != nil {
		return err
	}
	need.Scope = scope
	return g.authorize(r, nil, need)
}

// needOf returns what a call requires: scope and realm come from its operation, account and workspace from its path.
func needOf(op *transcode.Operation, path address.WorkspacePath, vars map[string]string) (authn.Need, error) {
	need := authn.Need{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace}
	if path.Account != uuid.Nil {
		need.Account, need.Workspace, need.Named = path.Account, path.Workspace, true
	}
	if op == nil {
		return need, nil
	}
	need.Realm, need.Scope = op.Realm, op.Scope
	if op.Realm == orchv1.Realm_REALM_UNSPECIFIED {
		return need, nil
	}
	// Operations without a workspace return 404 under a workspace path.
	if need.Named {
		return need, errNotFound
	}
	need.Workspace = uuid.Nil
	if op.Realm == orchv1.Realm_REALM_ACCOUNT {
		account, err := uuid.Parse(vars["account_id"])
		if err != nil {
			return need, errNotFound
		}
		need.Account, need.Named = account, true
	}
	return need, nil
}

var errNotFound = rpc.Detail(http.StatusNotFound, "Not Found")

// authorize authenticates the caller, writes the caller into info (which may be nil) and checks the permission. Its
// error is the response.
func (g *Gateway) authorize(r *http.Request, info *request.Info, need authn.Need) error {
	if signedIn, ok := session.From(r.Context()); ok {
		return g.authorizeSession(r, signedIn.Digest, info, need)
	}
	if g.mode != authn.ByKey {
		if err := g.guard.Credentials(r); err != nil {
			return err
		}
		return g.admitWithoutKey(r, need)
	}
	token, _ := auth.Token(r.Header)
	return g.authorizeToken(r, token, info, need)
}

// authorizeToken is authorize for a key from a websocket's first message instead of a header.
func (g *Gateway) authorizeToken(r *http.Request, token string, info *request.Info, need authn.Need) error {
	caller, err := authn.Keys{Directory: g.directory}.Admit(r.Context(), token, need)
	if err != nil {
		return err
	}
	return g.bindCaller(r, caller, info, need)
}

// authorizeSession is authorize for a page of the dashboard, whose session has the digest of a key or password.
func (g *Gateway) authorizeSession(r *http.Request, digest string, info *request.Info, need authn.Need) error {
	if g.mode != authn.ByKey {
		if err := g.guard.SessionDigest(digest); err != nil {
			return err
		}
		return g.admitWithoutKey(r, need)
	}
	caller, err := authn.Keys{Directory: g.directory}.AdmitDigest(r.Context(), digest, need)
	if err != nil {
		return err
	}
	return g.bindCaller(r, caller, info, need)
}

// bindCaller checks the client's address and writes the caller into info, which may be nil.
func (g *Gateway) bindCaller(r *http.Request, caller request.Caller, info *request.Info, need authn.Need) error {
	account := need.Account
	if need.Realm == orchv1.Realm_REALM_SELF {
		account = caller.Account // A service account belongs to one account; self-service operations of users belong to none.
	}
	if err := g.admitAddress(r, account); err != nil {
		return err
	}
	if info != nil {
		info.Caller = caller
		if need.Realm == orchv1.Realm_REALM_SELF { // A service account belongs to one account, a user to several.
			info.Account = caller.Account
		}
	}
	return nil
}

// admitWithoutKey checks the binding of a request on a server without keys: the account and workspace must exist and
// allow the client's address.
func (g *Gateway) admitWithoutKey(r *http.Request, need authn.Need) error {
	if err := g.exists(r.Context(), need); err != nil {
		return err
	}
	return g.admitAddress(r, need.Account)
}

// exists checks, on a server without keys, that the account and workspace of a path exist.
func (g *Gateway) exists(ctx context.Context, need authn.Need) error {
	if !need.Named || need.Account == request.DefaultAccount && (need.Workspace == request.DefaultWorkspace || need.Workspace == uuid.Nil) {
		return nil
	}
	if g.directory == nil {
		return errNotFound
	}
	return authn.Keys{Directory: g.directory}.Exists(ctx, need)
}
