package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// openSite builds the dashboard. Its sessions are in a bucket of the broker, or in memory without one.
func (g *Gateway) openSite() error {
	options := session.Options{Log: g.log}
	if g.deps.Broker != nil && g.mode != authn.None {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		bucket, err := g.deps.Broker.KeyValue(ctx, session.Bucket, broker.KVConfig{Description: "signed-in browsers of the dashboard"})
		if err != nil {
			return fmt.Errorf("open the sessions: %w", err)
		}
		options.Bucket = bucket
	}
	g.sessions = session.NewStore(options)
	var err error
	g.site, err = web.New(web.Options{
		API:        g.api,
		Enter:      g.enter,
		SignIn:     g.signIn,
		Client:     g.addresses.Client,
		Follow:     g.followTopics(),
		Sessions:   g.sessions,
		Owner:      g.owner,
		Vocabulary: g.cfg.Vocabulary,
		Refused:    g.denied,
		Version:    g.deps.Version,
		Addresses:  g.pageAddresses,
		Ready:      g.Ready,
		Parts:      g.parts,
		Credential: string(g.cfg.Credential()),
		Log:        g.log,
	})
	if err != nil {
		return fmt.Errorf("build the site: %w", err)
	}
	return nil
}

// followTopics serves the websockets of pages, which need the broker.
func (g *Gateway) followTopics() func(http.ResponseWriter, web.Visit, stream.Watch, func() error) error {
	if g.deps.Broker == nil {
		return nil
	}
	return func(w http.ResponseWriter, visit web.Visit, watch stream.Watch, admit func() error) error {
		b, _ := visit.Request.Context().Value(requestScopeKey{}).(requestScope)
		client := stream.Client{Address: b.info.Peer, Account: b.info.Account}
		return g.sockets.ServeLive(w, visit.Request, watch, client, func() (request.Info, error) { return b.info, admit() })
	}
}

// signIn returns the digest of a credential if it is valid now.
func (g *Gateway) signIn(r *http.Request, credential string) (string, error) {
	if g.mode != authn.ByKey {
		if err := g.guard.Token(credential); err != nil {
			return "", err
		}
		return g.guard.PasswordDigest(), nil
	}
	if err := g.authorizeToken(r, credential, nil, authn.Need{}); err != nil {
		return "", err
	}
	return auth.Digest(credential), nil
}

// owner returns the id of the user or service account whose key has a digest; without keys everybody who signs in is one owner.
func (g *Gateway) owner(digest string) string {
	if g.mode != authn.ByKey {
		if g.guard.SessionDigest(digest) != nil {
			return ""
		}
		return "password"
	}
	caller, err := g.directory.IdentifyDigest(digest)
	if err != nil {
		return ""
	}
	return caller.ID
}

// enter authenticates a request for a page and binds it to its account and workspace, as admit does for the API.
func (g *Gateway) enter(w http.ResponseWriter, r *http.Request, account, workspace uuid.UUID) (web.Visit, error) {
	path := address.WorkspacePath{Prefix: "/api", Account: account, Workspace: workspace}
	if account != uuid.Nil {
		path.Prefix += "/accounts/" + account.String() + "/workspaces/" + workspace.String()
	}
	need, err := needOf(nil, path, nil)
	if err != nil {
		return web.Visit{}, err
	}
	info := g.info(w, r, path.Prefix)
	info.Account, info.Workspace = need.Account, need.Workspace
	if err := g.authorize(r, &info, need); err != nil {
		return web.Visit{}, err
	}
	visit := web.Visit{
		Request:   r.WithContext(context.WithValue(r.Context(), requestScopeKey{}, requestScope{info: info, path: path, page: true})),
		Allowed:   func(string) bool { return true },
		APIPrefix: path.Prefix, Member: true, Account: info.Account, Workspace: info.Workspace,
	}
	if g.mode != authn.ByKey {
		return visit, nil
	}
	caller, err := g.identify(r)
	if err != nil {
		return web.Visit{}, err
	}
	scopes, member := g.directory.WorkspaceScopes(caller, need.Account.String(), need.Workspace.String())
	if !member && need.Named {
		return web.Visit{}, errNotFound
	}
	visit.Name, visit.Member = caller.Name, member && len(scopes) > 0
	visit.Workspaces = g.directory.Workspaces(caller)
	visit.Allowed = func(rpc string) bool { return g.holds(caller, scopes, need.Account, g.api.Operation(rpc)) }
	return visit, nil
}

// identify returns the owner of an admitted request's key.
func (g *Gateway) identify(r *http.Request) (directory.Caller, error) {
	if signedIn, ok := session.From(r.Context()); ok {
		return g.directory.IdentifyDigest(signedIn.Digest)
	}
	token, _ := auth.Token(r.Header)
	return g.directory.Identify(token)
}

// holds reports whether a caller holds the scope of an operation in its realm.
func (g *Gateway) holds(caller directory.Caller, scopes access.Set, account uuid.UUID, op *transcode.Operation) bool {
	switch {
	case op == nil:
		return false
	case op.Public || op.Scope == "":
		return true
	}
	switch op.Realm {
	case orchv1.Realm_REALM_SELF:
		return access.Self.Has(op.Scope) && (!caller.ServiceAccount || access.SelfOfProgram.Has(op.Scope))
	case orchv1.Realm_REALM_SERVER:
		return caller.Administrator && access.Scopes(op.Realm).Has(op.Scope)
	case orchv1.Realm_REALM_ACCOUNT:
		scopes, _ := g.directory.AccountScopes(caller, account.String())
		return scopes.Has(op.Scope)
	}
	return scopes.Has(op.Scope)
}
