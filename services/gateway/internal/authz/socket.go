package authz

import (
	"net/http"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// SocketClient returns what the request of a websocket proves. A wrong Authorization header is refused before the upgrade. A
// client without that header, or without the permission, authenticates by its first message.
func (a *Authorizer) SocketClient(r *http.Request, scope transcode.RequestScope, permission string) (stream.Client, error) {
	client := stream.Client{Address: scope.Info.Peer}
	if a.opts.Mode != authn.None && r.Header.Get("Authorization") == "" {
		return client, nil
	}
	info, err := a.authorizeSocket(r, scope, "", true, permission)
	switch {
	case err == nil:
		client.Account = info.Account
	case rpc.HTTPError(err).GetStatus() == http.StatusUnauthorized:
		return client, err
	}
	return client, nil
}

// AdmitSocket returns the sender of a websocket for a token (empty: none) and a permission. A legacy websocket cannot send a token;
// there the request's header counts. A client that expects another vocabulary is refused.
func (a *Authorizer) AdmitSocket(
	r *http.Request, scope transcode.RequestScope, token string, legacy bool, permission string,
) (request.Info, error) {
	info, err := a.authorizeSocket(r, scope, token, legacy, permission)
	if err == nil {
		err = a.opts.Refused.Refuse(r, info, func(string) string { return a.opts.Vocabulary.ShortRefusal() })
	}
	return info, err
}

// SocketAllowed reports whether the request of a websocket proves a permission, without a first message.
func (a *Authorizer) SocketAllowed(r *http.Request, scope transcode.RequestScope, permission string) bool {
	need, err := needOf(nil, scope.Path, nil)
	need.Scope = permission
	return err == nil && a.authorize(r, nil, need) == nil
}

func (a *Authorizer) authorizeSocket(
	r *http.Request, scope transcode.RequestScope, token string, legacy bool, permission string,
) (request.Info, error) {
	info := scope.Info
	need, err := needOf(nil, scope.Path, nil)
	if err != nil {
		return info, err
	}
	need.Scope = permission
	info.Account, info.Workspace = need.Account, need.Workspace
	switch {
	case legacy:
		err = authn.LegacySocketError(a.authorize(r, &info, need), r.Header)
	case a.opts.Mode == authn.ByKey:
		err = authn.SocketError(a.authorizeToken(r, auth.KeyOfToken(token), &info, need), token)
	default:
		if err = a.opts.Guard.Token(token); err == nil {
			err = a.admitWithoutKey(r, need)
		}
	}
	return info, err
}
