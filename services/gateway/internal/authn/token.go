package authn

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
)

// Token checks who sends a token, as websocket clients do in their first message; empty is none. Its error is the answer.
func (g *Guard) Token(token string) error {
	switch {
	case g.opts.Basic == nil:
		return nil
	case token == "":
		return rpc.Detail(http.StatusUnauthorized, "Auth required but no token provided")
	case !g.opts.Basic.AllowsToken(token):
		return rpc.Detail(http.StatusUnauthorized, "Invalid token")
	}
	return nil
}
