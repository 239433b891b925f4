package web

import (
	"embed"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/flosch/pongo2/v6"
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/authz"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/fragment"
	"github.com/orch-project/orch/services/gateway/internal/web/pages"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// Options are the dependencies of a Site.
type Options struct {
	// API makes the calls of pages with the authorization of their reader.
	API apicall.API
	// Authorizer authenticates readers.
	Authorizer Authorizer
	// Server tells about the server.
	Server Server
	// Sockets serves the websockets of pages; nil without a broker: pages then do not follow anything.
	Sockets Sockets
	// Sessions holds the signed-in browsers.
	Sessions   *session.Store
	Vocabulary vocabulary.Vocabulary
	// Refused are the clients that were refused because they expect another vocabulary; nil shows none.
	Refused *refusals.Log
	// Version is the server's version.
	Version string
	// Credential is what the server requires: "" (nothing), "password" or "key".
	Credential string
	Clock      clock.Clock
	Log        *slog.Logger
}

// Authorizer authenticates the readers of pages. Its errors are responses.
type Authorizer interface {
	// Enter authenticates a request for a page and binds it to an account and workspace; nil UUIDs mean the defaults.
	Enter(w http.ResponseWriter, r *http.Request, account, workspace uuid.UUID) (authz.Visit, error)
	// SignIn returns the digest of a valid credential: an API key, or user:password.
	SignIn(r *http.Request, credential string) (digest string, err error)
	// Owner returns the owner of a credential with a digest; empty for one that is not valid. Owners see their own sessions.
	Owner(digest string) string
	// Client returns the client's address, the zero address if unknown.
	Client(r *http.Request) netip.Addr
}

// Server tells about the server and its process.
type Server interface {
	pages.Server
	// PageAddresses returns the server's addresses as the client of a request sees them.
	PageAddresses(r *http.Request) Addresses
}

// Sockets serves websockets that send invalidations about what a watch selects; admit checks the reader's permission again. Its error
// is the response.
type Sockets interface {
	ServeLive(w http.ResponseWriter, r *http.Request, watch stream.Watch, client stream.Client, admit func() (request.Info, error)) error
}

// Addresses are the server's addresses.
type Addresses struct {
	Root, API, Hooks string
	// Metrics is empty when unknown.
	Metrics string
}

// pageVisit is an authenticated request for a page.
type pageVisit struct {
	authz.Visit
	request *http.Request
	// allowed reports whether the reader holds the permission of an rpc.
	allowed func(rpc string) bool
	// counts returns what the navigation counts; nil for responses without navigation.
	counts func() map[string]pages.SectionCount
}

// enter authenticates a request for a page. The writer may be nil.
func (s *Site) enter(w http.ResponseWriter, r *http.Request, at workspacePath) (pageVisit, error) {
	entered, err := s.opts.Authorizer.Enter(w, r, at.account, at.workspace)
	return pageVisit{Visit: entered, request: r, allowed: func(rpc string) bool { return entered.Allowed(s.opts.API.Operation(rpc)) }}, err
}

// callOptions returns the options of a client that calls as the reader of a page.
func (v pageVisit) callOptions(timeout time.Duration, declared ...string) apicall.Options {
	return apicall.Options{Scope: v.Scope, Timeout: timeout, Allowed: v.allowed, Declared: declared}
}

// Site serves the pages.
type Site struct {
	opts        Options
	routes      *routes
	done        map[string]string // The sentences after actions, by action.
	templates   *pongo2.TemplateSet
	static      map[string]*asset
	staticPath  string // "/static/{hash}", by the content of all files.
	explorer    map[string]*asset
	description *description
	operations  func() ([]operationTag, error)
	attempts    *session.Attempts
	origin      *http.CrossOriginProtection
	fragments   *fragment.Cache
	results     *apicall.Cache
	permissions []string // See permissionsOf.
}

// New reads the embedded files and compiles every template, so an invalid one is an error here.
func New(opts Options) (*Site, error) {
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	s := &Site{
		opts: opts, description: newDescription(opts.Vocabulary), operations: operationsOf(opts.Vocabulary), done: map[string]string{},
		attempts: session.NewAttempts(opts.Clock), origin: http.NewCrossOriginProtection(),
		fragments: fragment.NewCache(opts.Clock), results: apicall.NewCache(opts.Clock), permissions: permissionsOf(opts.API.Operations()),
	}
	table := pages.All(opts.Server)
	var err error
	if s.routes, err = newRoutes(table); err != nil {
		return nil, err
	}
	for _, p := range table {
		for _, action := range p.Actions {
			s.done[action.Name] = action.Done
		}
	}
	if s.templates, err = templates(); err != nil {
		return nil, err
	}
	if s.static, err = assets(staticFiles, "static"); err != nil {
		return nil, err
	}
	s.staticPath = "/static/" + hashOf(s.static)
	if s.explorer, err = assets(openapi.ExplorerFiles, "explorer"); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if s.serveStatic(w, r) {
		return
	}
	r = s.withSession(r)
	switch r.URL.Path {
	case "/login":
		requestlog.SetRoute(w, "/login")
		s.login(w, r)
		return
	case "/logout":
		requestlog.SetRoute(w, "/logout")
		s.logout(w, r)
		return
	case themePath:
		requestlog.SetRoute(w, themePath)
		s.chooseTheme(w, r)
		return
	}
	s.servePage(w, r)
}

// withSession returns a request with the session of its browser, if it has one.
func (s *Site) withSession(r *http.Request) *http.Request {
	if token := session.Token(r, s.secure(r)); token != "" && r.Header.Get("Authorization") == "" {
		if found, ok := s.opts.Sessions.Find(r.Context(), token); ok {
			return r.WithContext(session.With(r.Context(), found))
		}
	}
	return r
}

// serveStatic serves files that need no sign-in. It reports whether it responded.
func (s *Site) serveStatic(w http.ResponseWriter, r *http.Request) bool {
	name, found := strings.CutPrefix(r.URL.Path, s.staticPath+"/")
	file := s.static[name]
	if r.URL.Path == "/favicon.ico" {
		file, found = s.static["icon.svg"], true
	}
	if !found || file == nil {
		return false
	}
	requestlog.SetRoute(w, "/static/{file}")
	if r.URL.Path != "/favicon.ico" {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	file.ServeHTTP(w, r)
	return true
}

// secure reports whether the browser reaches the server over HTTPS.
func (s *Site) secure(r *http.Request) bool {
	return strings.HasPrefix(s.opts.Server.PageAddresses(r).Root, "https:")
}

// Description responds with the API's OpenAPI document.
func (s *Site) Description(w http.ResponseWriter, r *http.Request) {
	s.description.serve(w, r, func(err error) { s.fail(w, r, err) })
}
