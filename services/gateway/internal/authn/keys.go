package authn

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Need is the permission that a request requires.
type Need struct {
	Realm orchv1.Realm
	// Scope is the operation's scope. Empty requires only a valid key.
	Scope string
	// Account and Workspace are those that the request is bound to, as far as its realm has them.
	Account, Workspace uuid.UUID
	// Named reports that the path names them. A workspace in the path that the caller does not belong to returns 404; a
	// default workspace returns 403.
	Named bool
}

// Keys authenticates and authorizes requests by API keys.
//
//	key ──► caller ──► member of the account? ──► role has the scope?
//	 401                403, 404                   403
//
// No remote call happens on the way. Before Keys refuses a request, it waits until the directory has applied all
// updates that are under way, because a recent change may permit the request.
type Keys struct{ Directory *directory.Directory }

var (
	errNoKey = rpc.Error(&orchv1.HttpError{
		Status:  http.StatusUnauthorized,
		Form:    &orchv1.HttpError_Detail{Detail: "Unauthorized"},
		Headers: map[string]string{"WWW-Authenticate": `Bearer realm="Orch"`},
	})
	errForbidden = rpc.Detail(http.StatusForbidden, "Forbidden")
	errNotThere  = rpc.Detail(http.StatusNotFound, "Not Found")
	errStale     = rpc.Error(&orchv1.HttpError{
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Service Unavailable"},
		Headers: map[string]string{"Retry-After": "1", vocabulary.MaintenanceHeader: "true"},
	})
)

// Admit authenticates a token and checks that its owner has the required permission. Its error is the response.
func (k Keys) Admit(ctx context.Context, token string, need Need) (request.Caller, error) {
	return k.admit(ctx, auth.KeyShaped(token), need, func() (directory.Caller, error) { return k.Directory.Identify(token) })
}

// AdmitDigest is Admit for a session of the dashboard, which has the digest of its key.
func (k Keys) AdmitDigest(ctx context.Context, digest string, need Need) (request.Caller, error) {
	return k.admit(ctx, true, need, func() (directory.Caller, error) { return k.Directory.IdentifyDigest(digest) })
}

// admit judges a caller. If the credential is plausible, it judges a refused caller again after the directory caught up.
func (k Keys) admit(ctx context.Context, plausible bool, need Need, identify func() (directory.Caller, error)) (request.Caller, error) {
	caller, err := k.judge(identify, need)
	if err == nil || errors.Is(err, errStale) || !plausible || !k.Directory.CatchUp(ctx) {
		return caller, err
	}
	return k.judge(identify, need)
}

func (k Keys) judge(identify func() (directory.Caller, error), need Need) (request.Caller, error) {
	found, err := identify()
	if errors.Is(err, directory.ErrStale) {
		return request.Caller{}, errStale
	}
	if err != nil {
		return request.Caller{}, errNoKey
	}
	caller, err := callerOf(found)
	if err != nil || need.Scope == "" {
		return caller, err
	}
	var scopes access.Set
	member := true
	switch need.Realm {
	case orchv1.Realm_REALM_SELF:
		scopes = access.Self
		if found.ServiceAccount {
			scopes = access.SelfOfProgram
		}
	case orchv1.Realm_REALM_SERVER:
		if found.Administrator {
			scopes = access.Scopes(need.Realm)
		}
	case orchv1.Realm_REALM_ACCOUNT:
		scopes, member = k.Directory.AccountScopes(found, need.Account.String())
	default:
		scopes, member = k.Directory.WorkspaceScopes(found, need.Account.String(), need.Workspace.String())
	}
	switch {
	case !member && need.Named:
		return caller, errNotThere
	case !member || !scopes.Has(need.Scope):
		return caller, errForbidden
	}
	return caller, nil
}

func callerOf(c directory.Caller) (request.Caller, error) {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return request.Caller{}, errNoKey
	}
	actor, err := uuid.Parse(c.Actor)
	if err != nil {
		return request.Caller{}, errNoKey
	}
	caller := request.Caller{ID: id, Actor: actor, ServiceAccount: c.ServiceAccount, Administrator: c.Administrator, KeyExpires: c.KeyExpires}
	if c.ServiceAccount {
		caller.Account, err = uuid.Parse(c.Account)
	}
	return caller, err
}

// Exists checks, on a server without keys, that the account and workspace of a path exist.
func (k Keys) Exists(ctx context.Context, need Need) error {
	exists := func() bool {
		switch {
		case !need.Named:
			return true
		case need.Realm == orchv1.Realm_REALM_ACCOUNT:
			return k.Directory.HasAccount(need.Account.String())
		}
		return k.Directory.HasWorkspace(need.Account.String(), need.Workspace.String())
	}
	if exists() || k.Directory.CatchUp(ctx) && exists() {
		return nil
	}
	return errNotThere
}
