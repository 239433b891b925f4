package authn

import (
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Close reasons are at most 123 bytes long.
var (
	errNoToken  = rpc.Detail(http.StatusUnauthorized, "Auth required but no token provided; set "+vocabulary.ClientAuthSetting+"=user:KEY")
	errBadToken = rpc.Detail(http.StatusUnauthorized, "Invalid token; set "+vocabulary.ClientAuthSetting+"=user:KEY with a valid API key")
)

// errNoHeader is for clients that offer no subprotocol, such as Prefect's before 3.4: they send a credential below
// PREFECT_CLOUD_API_URL only.
var errNoHeader = rpc.Detail(http.StatusUnauthorized, "No credential; set PREFECT_CLOUD_API_URL to the API's address and PREFECT_API_KEY to the key or user:password")

// LegacySocketError returns the response to a websocket without a subprotocol for an error of its credentials. A client without a
// header learns which settings make it send one.
func LegacySocketError(err error, header http.Header) error {
	if rpc.HTTPError(err).GetStatus() == http.StatusUnauthorized && header.Get("Authorization") == "" {
		return errNoHeader
	}
	return err
}

// SocketError returns the response to a websocket's token for an error of Keys.Admit. A client without a valid key
// learns which setting must hold one, because it sends another setting's key in HTTP requests only.
func SocketError(err error, token string) error {
	switch {
	case !errors.Is(err, errNoKey):
		return err
	case token == "":
		return errNoToken
	}
	return errBadToken
}

// PasswordDigest returns what a dashboard session stores of the password; empty without one.
func (g *Guard) PasswordDigest() string {
	if g.opts.Basic == nil {
		return ""
	}
	return g.opts.Basic.SessionDigest()
}

// SessionDigest checks what a dashboard session stores of the password. Its error is the response.
func (g *Guard) SessionDigest(digest string) error {
	if g.opts.Keys {
		return errNoKey
	}
	if g.opts.Basic == nil || g.opts.Basic.AllowsDigest(digest) {
		return nil
	}
	return rpc.Detail(http.StatusUnauthorized, "Unauthorized")
}

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
