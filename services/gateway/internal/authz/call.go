package authz

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// Admit authorizes a call and binds it to its account and workspace.
func (a *Authorizer) Admit(
	r *http.Request, scope transcode.RequestScope, op *transcode.Operation, vars map[string]string,
) (context.Context, error) {
	path, info := scope.PathOf(op), scope.Info
	need, err := needOf(op, path, vars)
	if err != nil {
		if stranger := a.authorize(r, nil, authn.Need{}); stranger != nil {
			return nil, stranger
		}
		return nil, err
	}
	info.Account, info.Workspace = need.Account, need.Workspace
	if path.Account != uuid.Nil || !isProbe(op) && (a.opts.Mode != authn.ByKey || op == nil || !op.Public) {
		if err := a.authorize(r, &info, need); err != nil {
			return nil, err
		}
	}
	if op != nil && !op.AnyVersion {
		if err := authn.Version(r.Header); err != nil {
			return nil, err
		}
	}
	if op != nil && !op.ReadOnly {
		if err := a.opts.Refused.Refuse(r, info, a.opts.Vocabulary.Refusal); err != nil {
			return nil, err
		}
	}
	return request.Outgoing(r.Context(), info), nil
}

// Permit authorizes an additional permission for an admitted call, in the same realm as the operation's own.
func (a *Authorizer) Permit(
	r *http.Request, scope transcode.RequestScope, op *transcode.Operation, vars map[string]string, permission string,
) error {
	if a.opts.Mode != authn.ByKey {
		return nil // Without keys, every authenticated caller has every permission.
	}
	need, err := needOf(op, scope.PathOf(op), vars)
	if err != nil {
		return err
	}
	need.Scope = permission
	return a.authorize(r, nil, need)
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

// probes are open without credentials, because container orchestrators have none.
func isProbe(op *transcode.Operation) bool {
	return op != nil && (op.RPC == orchv1.ServerService_HealthCheck_FullMethodName ||
		op.RPC == orchv1.ServerService_PerformReadinessCheck_FullMethodName)
}
