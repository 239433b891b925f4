package authn

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
)

// Token checks the token of a websocket's first message; empty means no token. Its error is the response.
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
