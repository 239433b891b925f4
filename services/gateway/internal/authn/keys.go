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
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Need is what a request asks for.
type Need struct {
	Realm orchv1.Realm
	// Scope is the one that the operation names. Empty asks for a valid key alone.
	Scope string
	// Account and Workspace are what the request is bound to, as far as the realm has them.
	Account, Workspace uuid.UUID
	// Named says that the path names them. What a path names and the caller is no member of is not there (404); what it
	// means without naming it is forbidden (403).
	Named bool
}

// Keys judges requests by API keys.
//
//	key ──► caller ──► member of the account? ──► role has the scope?
//	 401                403, 404                   403
//
// Nothing is asked on the way. Before a request is refused, the directory catches up: what refuses it may have changed
// a moment ago.
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
		Headers: map[string]string{"Retry-After": "1"},
	})
)

// Admit finds whose key a token is, and whether its owner may do what is needed. Its error is the answer.
func (k Keys) Admit(ctx context.Context, token string, need Need) (request.Caller, error) {
	caller, err := k.judge(token, need)
	if err == nil || errors.Is(err, errStale) || !auth.KeyShaped(token) || !k.Directory.CatchUp(ctx) {
		return caller, err
	}
	return k.judge(token, need)
}

func (k Keys) judge(token string, need Need) (request.Caller, error) {
	found, err := k.Directory.Identify(token)
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
	var held access.Set
	member := true
	switch need.Realm {
	case orchv1.Realm_REALM_SELF:
		held = access.Self
		if found.ServiceAccount {
			held = access.SelfOfProgram
		}
	case orchv1.Realm_REALM_SERVER:
		if found.Administrator {
			held = access.Scopes(need.Realm)
		}
	case orchv1.Realm_REALM_ACCOUNT:
		held, member = k.Directory.AccountScopes(found, need.Account.String())
	default:
		held, member = k.Directory.WorkspaceScopes(found, need.Account.String(), need.Workspace.String())
	}
	switch {
	case !member && need.Named:
		return caller, errNotThere
	case !member || !held.Has(need.Scope):
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
	caller := request.Caller{ID: id, Actor: actor, ServiceAccount: c.ServiceAccount, Administrator: c.Administrator}
	if c.ServiceAccount {
		caller.Account, err = uuid.Parse(c.Account)
	}
	return caller, err
}

// Exists judges on a server without keys: what the path names must be there.
func (k Keys) Exists(ctx context.Context, need Need) error {
	look := func() bool {
		switch {
		case !need.Named:
			return true
		case need.Realm == orchv1.Realm_REALM_ACCOUNT:
			return k.Directory.HasAccount(need.Account.String())
		}
		return k.Directory.HasWorkspace(need.Account.String(), need.Workspace.String())
	}
	if look() || k.Directory.CatchUp(ctx) && look() {
		return nil
	}
	return errNotThere
}
