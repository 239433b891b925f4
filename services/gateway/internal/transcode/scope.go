package transcode

import (
	"context"
	"net/http"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
)

// RequestScope is what the gateway knows of a request before it matches an operation: its sender, and the workspace of its path.
type RequestScope struct {
	Info request.Info
	Path address.WorkspacePath
	// Page marks a request for a page, whose path names the page's workspace. Its calls name operations and have no path.
	Page bool
}

// PathOf returns the path of a call. A page calls operations of accounts and users as clients do: without a workspace.
func (s RequestScope) PathOf(op *Operation) address.WorkspacePath {
	if s.Page && op != nil && op.Realm != orchv1.Realm_REALM_UNSPECIFIED {
		return address.WorkspacePath{Prefix: "/api"}
	}
	return s.Path
}

// Authorizer decides who may make a call. Its errors are responses.
type Authorizer interface {
	// Admit authorizes a request and returns the context of its call, with the metadata that services need. Vars are
	// the path's variables, still escaped. The operation is nil for an unknown path, so strangers cannot probe paths.
	Admit(r *http.Request, scope RequestScope, op *Operation, vars map[string]string) (context.Context, error)
	// Permit authorizes an additional permission that the fields of an admitted request require.
	Permit(r *http.Request, scope RequestScope, op *Operation, vars map[string]string, permission string) error
}
