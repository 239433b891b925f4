package transcode

import (
	"context"
	"net/http"

	"github.com/orch-project/orch/pkg/request"
)

// everybody admits every request as the sender of its scope.
type everybody struct{}

func (everybody) Admit(r *http.Request, scope RequestScope, _ *Operation, _ map[string]string) (context.Context, error) {
	return request.Outgoing(r.Context(), scope.Info), nil
}

func (everybody) Permit(*http.Request, RequestScope, *Operation, map[string]string, string) error {
	return nil
}
