package web

import (
	"context"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/access/accesstest"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authz"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/pages"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

var update = flag.Bool("update", false, "write the golden files")

// now is the time of every page under test.
var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// at returns a time before now.
func at(ago time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(-ago)) }

// someID is the UUID of what pages under test show.
const someID = "01890000-0000-7000-8000-000000000001"

// answers are the responses of rpcs: a proto.Message, an error, a function of the request, or a slowAnswer.
type answers map[string]any

// pageCase is a page with the answers of its calls.
type pageCase struct {
	name    string // Of the golden file.
	path    string
	answers answers
	// form is posted instead of a GET.
	form url.Values
	// status is expected; zero means 200.
	status int
	// keys is a page of a server that requires API keys.
	keys bool
	// prefect is a page of a server with Prefect's vocabulary.
	prefect bool
}

// site returns the site of the case, whose reader holds the scopes; nil means all.
func (c pageCase) site(t testing.TB, s *stub, scopes access.Set) *Site {
	t.Helper()
	site := siteWith(t, s, scopes)
	if c.keys {
		site.opts.Credential = "key"
	}
	if c.prefect {
		site.opts.Vocabulary = vocabulary.Prefect
	}
	return site
}

// pagesUnderTest lists every page; TestEveryPageHasACase checks it.
func pagesUnderTest() []pageCase {
	return slices.Concat(runCases(), flowRunCases(), objectCases(), consoleCases(), accountCases())
}

// stub answers rpcs, and fails those without an answer.
type stub struct {
	answers answers

	mu    sync.Mutex
	calls []string
	last  map[string]proto.Message
}

func (s *stub) Call(ctx context.Context, method string, request proto.Message) (proto.Message, rpc.Reply, error) {
	s.mu.Lock()
	s.calls = append(s.calls, method)
	if s.last == nil {
		s.last = map[string]proto.Message{}
	}
	s.last[method] = request
	s.mu.Unlock()
	switch answer := s.answers[method].(type) {
	case proto.Message:
		return proto.Clone(answer), rpc.Reply{}, nil
	case error:
		return nil, rpc.Reply{}, answer
	case slowAnswer:
		return answer.wait(ctx)
	case func(proto.Message) proto.Message:
		s.mu.Lock()
		defer s.mu.Unlock()
		return answer(request), rpc.Reply{}, nil
	}
	return nil, rpc.Reply{}, rpc.Detail(http.StatusNotFound, "Not Found")
}

// reader is the authorizer of a site with one reader, who holds the scopes; nil means all.
type reader struct {
	scopes access.Set
	// enter and signIn replace what every request may do; owner names the owner of a digest.
	enter  func(r *http.Request) error
	signIn func(credential string) (string, error)
	owner  func(digest string) string
	// workspace is the workspace and account of every path; nil means those of the path.
	workspace uuid.UUID
}

func (a *reader) holds(op *transcode.Operation) bool {
	return op != nil && (a.scopes == nil || op.Public || a.scopes.Has(op.Scope))
}

func (a *reader) Admit(r *http.Request, _ transcode.RequestScope, op *transcode.Operation, _ map[string]string) (context.Context, error) {
	if !a.holds(op) {
		return nil, rpc.Detail(http.StatusForbidden, "Forbidden")
	}
	return r.Context(), nil
}

func (a *reader) Permit(*http.Request, transcode.RequestScope, *transcode.Operation, map[string]string, string) error {
	return nil
}

func (a *reader) Enter(_ http.ResponseWriter, r *http.Request, account, workspace uuid.UUID) (authz.Visit, error) {
	if a.enter != nil {
		if err := a.enter(r); err != nil {
			return authz.Visit{}, err
		}
	}
	if a.workspace != uuid.Nil {
		account, workspace = a.workspace, a.workspace
	}
	return authz.Visit{
		Scope: transcode.RequestScope{
			Info: request.Info{Account: account, Workspace: workspace}, Path: address.WorkspacePath{Prefix: "/api"}, Page: true,
		},
		Allowed: a.holds, Member: true,
	}, nil
}

func (a *reader) SignIn(_ *http.Request, credential string) (string, error) {
	return a.signIn(credential)
}

func (a *reader) Owner(digest string) string {
	if a.owner == nil {
		return ""
	}
	return a.owner(digest)
}

func (a *reader) Client(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }

// healthy is a server that works.
type healthy struct{}

func (healthy) Ready() error { return nil }

func (healthy) Parts() []run.Item { return []run.Item{{Name: "gateway", OK: true}} }

func (healthy) PageAddresses(*http.Request) Addresses {
	return Addresses{Root: "http://orch.test", API: "http://orch.test/api", Hooks: "http://orch.test/hooks"}
}

// siteWith returns a site whose reader holds the scopes; nil means all.
func siteWith(t testing.TB, s *stub, scopes access.Set) *Site {
	t.Helper()
	only := &reader{scopes: scopes}
	api, err := transcode.New(transcode.Options{
		Services: openapi.Services(), Caller: func(string) rpc.Caller { return s }, Authorizer: only,
	})
	require.NoError(t, err)
	site, err := New(Options{
		API: api, Authorizer: only, Server: healthy{}, Clock: clock.NewManual(now), Version: "1.2.3",
		Sessions: session.NewStore(session.Options{}), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	return site
}

// readerOf returns the reader of a site.
func readerOf(site *Site) *reader { return site.opts.Authorizer.(*reader) }

// visit requests a page as a browser does. A form is sent with the token of a page shown before.
func visit(t testing.TB, site *Site, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if form != nil {
		w := httptest.NewRecorder()
		token := session.FormToken(w, r, false)
		sent := maps.Clone(form)
		sent.Set(session.FormField, token)
		r = httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(sent.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(w.Result().Cookies()[0])
	}
	r.Header.Set("Accept", "text/html")
	if accept := form.Get("accept"); accept != "" { // Of a script.
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

var (
	formTokens = regexp.MustCompile(`(name="` + session.FormField + `" value=")[^"]*"`)
	statics    = regexp.MustCompile(`/static/[0-9a-f]+/`)
	inline     = regexp.MustCompile(`(?i)<style|<[a-z][\w-]*(?:\s+[\w:-]+(?:="[^"]*")?)*\s+(?:style|on[a-z]+)=|<script>|"\s*javascript:`)
	navigation = regexp.MustCompile(`(?s)<nav class="side".*?</nav>`)
	hrefs      = regexp.MustCompile(`(?:href|action|src)="([^"]*)"`)
)

func TestPages(t *testing.T) {
	t.Parallel()
	for _, c := range pagesUnderTest() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			site := c.site(t, &stub{answers: c.answers}, nil)
			got := visit(t, site, c.path, c.form)
			body := got.Body.String()
			require.Equal(t, max(c.status, http.StatusOK), got.Code, body)
			require.Empty(t, inline.FindString(body), "inline code")
			require.NotContains(t, body, "%!", "a wrong format")
			for _, match := range hrefs.FindAllStringSubmatch(body, -1) {
				requireLink(t, site, match[1])
			}
			body = statics.ReplaceAllString(formTokens.ReplaceAllString(body, `${1}TOKEN"`), "/static/HASH/")
			if c.name != "home" { // One file has the navigation, so a new section changes one file.
				body = navigation.ReplaceAllString(body, "<nav/>")
			}
			const most = 100_000
			if len(body) > most { // A page about a large payload: its escaping is checked above, its size here.
				require.Less(t, len(body), 12*most)
				return
			}
			golden := filepath.Join("testdata", c.name+".html")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(body), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), body)
		})
	}
}

// requireLink fails for a link within the dashboard that leads to no page.
func requireLink(t *testing.T, site *Site, link string) {
	t.Helper()
	link = strings.ReplaceAll(strings.ReplaceAll(link, "&amp;", "&"), "&#39;", "'")
	u, err := url.Parse(strings.TrimPrefix(link, "http://orch.test"))
	require.NoError(t, err, link)
	if u.Host != "" || u.Path == "" || u.Path == themePath || strings.HasPrefix(u.Path, "/static/") || strings.HasPrefix(u.Path, "/docs") || strings.HasPrefix(u.Path, "/api/") {
		return
	}
	_, path := splitWorkspacePath(u.EscapedPath())
	found, _ := site.routes.find(path)
	require.NotNil(t, found, "the link %s leads nowhere", link)
}

func TestEveryPageHasACase(t *testing.T) {
	t.Parallel()
	site := siteWith(t, &stub{}, nil)
	tested := map[string]bool{}
	for _, c := range pagesUnderTest() {
		u, err := url.Parse(c.path)
		require.NoError(t, err)
		found, _ := site.routes.find(u.EscapedPath())
		require.NotNil(t, found, c.path)
		tested[found.Pattern] = true
	}
	for _, p := range pages.All(nil) {
		if p.Serve == nil {
			require.True(t, tested[p.Pattern], "%s has no case in pagesUnderTest", p.Pattern)
		}
	}
}

// TestRoles visits every page and posts every action with each role. The permissions of a role follow from the scopes of the
// declared rpcs, as it does over REST.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, member := range accesstest.Members() {
		t.Run(member.Name, func(t *testing.T) {
			t.Parallel()
			scopes := member.Scopes
			for _, c := range pagesUnderTest() {
				if c.status != 0 || c.form != nil {
					continue
				}
				s := &stub{answers: c.answers}
				site := c.site(t, s, scopes)
				u, err := url.Parse(c.path)
				require.NoError(t, err)
				p, _ := site.routes.find(u.EscapedPath())
				visible := holdsAll(site, scopes, p.Needs)
				if strings.HasPrefix(c.path, "/trace/delivery/") { // Other traces begin without a delivery.
					visible = visible && holdsAll(site, scopes, []string{orchv1.WebhookService_ReadDeliveries_FullMethodName})
				}
				got := visit(t, site, c.path, nil)
				require.Equal(t, visible, got.Code == http.StatusOK, "GET %s: %d", c.path, got.Code)
				require.Equal(t, !visible, got.Code == http.StatusForbidden, "GET %s: %d", c.path, got.Code)
				s.requireWithin(t, site, scopes)
				for _, action := range p.Actions {
					may := visible && holdsAll(site, scopes, action.Calls)
					button := strings.Contains(got.Body.String(), `name="action" value="`+action.Name+`"`)
					require.False(t, button && !may, "%s shows %s to %s", c.path, action.Name, member.Name)
					posted := visit(t, site, c.path, url.Values{"action": {action.Name}})
					require.Equal(t, !may, posted.Code == http.StatusForbidden, "POST %s %s: %d", c.path, action.Name, posted.Code)
					s.requireWithin(t, site, scopes)
				}
			}
		})
	}
}

func holdsAll(site *Site, scopes access.Set, rpcs []string) bool {
	for _, rpc := range rpcs {
		if op := site.opts.API.Operation(rpc); !op.Public && !scopes.Has(op.Scope) {
			return false
		}
	}
	return true
}

// requireWithin fails for a call whose scope the reader does not hold.
func (s *stub) requireWithin(t *testing.T, site *Site, scopes access.Set) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		require.True(t, holdsAll(site, scopes, []string{call}), "call of %s", call)
	}
}

// TestTemplatesTrustNothing fails for a template that turns escaping off, and for a package that makes markup besides show
// chart and graph.
func TestTemplatesTrustNothing(t *testing.T) {
	t.Parallel()
	trusted := regexp.MustCompile(`\|\s*safe|autoescape|\|\s*(removetags|striptags|linebreaks|urlize)`)
	walk(t, "templates", func(name, content string) {
		require.Empty(t, trusted.FindString(content), name)
		require.Empty(t, inline.FindString(content), name)
	})
	makes := regexp.MustCompile(`markup\.(Trust|Builder)|AsSafeValue`)
	walk(t, ".", func(name, content string) {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !slices.Contains([]string{"show", "chart", "graph", "markup"}, filepath.Dir(name)) {
			require.Empty(t, makes.FindString(content), name)
		}
	})
}

func walk(t *testing.T, root string, visit func(name, content string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		visit(name, string(content))
		return err
	}))
}

// TestEmbeddedFilesAreMerged fails for a file with the markers of an unresolved merge.
func TestEmbeddedFilesAreMerged(t *testing.T) {
	t.Parallel()
	markers := regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>) `)
	for _, folder := range []string{"templates", "static"} {
		walk(t, folder, func(name, content string) { require.Empty(t, markers.FindString(content), name) })
	}
}
