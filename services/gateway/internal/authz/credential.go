package authz

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// Authenticate checks the credential of a request, without a permission.
func (a *Authorizer) Authenticate(r *http.Request) error { return a.authorize(r, nil, authn.Need{}) }

// authorize authenticates the caller, writes the caller into info (which may be nil) and checks the permission. Its
// error is the response.
func (a *Authorizer) authorize(r *http.Request, info *request.Info, need authn.Need) error {
	if signedIn, ok := session.From(r.Context()); ok {
		return a.authorizeSession(r, signedIn.Digest, info, need)
	}
	if a.opts.Mode != authn.ByKey {
		if err := a.opts.Guard.Credentials(r); err != nil {
			return err
		}
		return a.admitWithoutKey(r, need)
	}
	token, _ := auth.Token(r.Header)
	return a.authorizeToken(r, token, info, need)
}

// authorizeToken is authorize for a key from a websocket's first message instead of a header.
func (a *Authorizer) authorizeToken(r *http.Request, token string, info *request.Info, need authn.Need) error {
	caller, err := authn.Keys{Directory: a.opts.Directory}.Admit(r.Context(), token, need)
	if err != nil {
		return err
	}
	return a.bindCaller(r, caller, info, need)
}

// authorizeSession is authorize for a page of the dashboard, whose session has the digest of a key or password.
func (a *Authorizer) authorizeSession(r *http.Request, digest string, info *request.Info, need authn.Need) error {
	if a.opts.Mode != authn.ByKey {
		if err := a.opts.Guard.SessionDigest(digest); err != nil {
			return err
		}
		return a.admitWithoutKey(r, need)
	}
	caller, err := authn.Keys{Directory: a.opts.Directory}.AdmitDigest(r.Context(), digest, need)
	if err != nil {
		return err
	}
	return a.bindCaller(r, caller, info, need)
}

// bindCaller checks the client's address and writes the caller into info, which may be nil.
func (a *Authorizer) bindCaller(r *http.Request, caller request.Caller, info *request.Info, need authn.Need) error {
	account := need.Account
	if need.Realm == orchv1.Realm_REALM_SELF {
		account = caller.Account // A service account belongs to one account; self-service operations of users belong to none.
	}
	if err := a.admitAddress(r, account); err != nil {
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
func (a *Authorizer) admitWithoutKey(r *http.Request, need authn.Need) error {
	if err := a.exists(r.Context(), need); err != nil {
		return err
	}
	return a.admitAddress(r, need.Account)
}

// exists checks, on a server without keys, that the account and workspace of a path exist.
func (a *Authorizer) exists(ctx context.Context, need authn.Need) error {
	if !need.Named || need.Account == request.DefaultAccount && (need.Workspace == request.DefaultWorkspace || need.Workspace == uuid.Nil) {
		return nil
	}
	if a.opts.Directory == nil {
		return errNotFound
	}
	return authn.Keys{Directory: a.opts.Directory}.Exists(ctx, need)
}
