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
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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
}

// site returns the site of the case, whose reader holds the scopes; nil means all.
func (c pageCase) site(t testing.TB, s *stub, scopes access.Set) *Site {
	t.Helper()
	site := siteWith(t, s, scopes)
	if c.keys {
		site.opts.Credential = "key"
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

// siteWith returns a site whose reader holds the scopes; nil means all.
func siteWith(t testing.TB, s *stub, scopes access.Set) *Site {
	t.Helper()
	api, err := transcode.New(transcode.Options{
		Services: openapi.Services(),
		Caller:   func(string) rpc.Caller { return s },
		Admit: func(r *http.Request, op *transcode.Operation, _ map[string]string) (context.Context, error) {
			if scopes != nil && !op.Public && !scopes.Has(op.Scope) {
				return nil, rpc.Detail(http.StatusForbidden, "Forbidden")
			}
			return r.Context(), nil
		},
		Permit: func(*http.Request, *transcode.Operation, map[string]string, string) error { return nil },
	})
	require.NoError(t, err)
	site, err := New(Options{
		API: api, Clock: clock.NewManual(now), Version: "1.2.3", Sessions: session.NewStore(session.Options{}),
		Enter: func(_ http.ResponseWriter, r *http.Request, account, workspace uuid.UUID) (Visit, error) {
			return Visit{
				Request: r, APIPrefix: "/api", Member: true, Account: account, Workspace: workspace,
				Allowed: func(rpc string) bool {
					op := api.Operation(rpc)
					return scopes == nil || op != nil && (op.Public || scopes.Has(op.Scope))
				},
			}, nil
		},
		Addresses: func(*http.Request) Addresses {
			return Addresses{Root: "http://orch.test", API: "http://orch.test/api", Hooks: "http://orch.test/hooks"}
		},
		Client: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
		Ready:  func() error { return nil },
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Parts:  func() []run.Item { return []run.Item{{Name: "gateway", OK: true}} },
	})
	require.NoError(t, err)
	return site
}

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
	if u.Host != "" || u.Path == "" || strings.HasPrefix(u.Path, "/static/") || strings.HasPrefix(u.Path, "/docs") || strings.HasPrefix(u.Path, "/api/") {
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
	for _, p := range pages.All(pages.Server{}) {
		if p.Serve == nil {
			require.True(t, tested[p.Pattern], "%s has no case in pagesUnderTest", p.Pattern)
		}
	}
}

// TestRoles visits every page and posts every action with each role. What a role may do follows from the scopes of the
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
// and chart.
func TestTemplatesTrustNothing(t *testing.T) {
	t.Parallel()
	trusted := regexp.MustCompile(`\|\s*safe|autoescape|\|\s*(removetags|striptags|linebreaks|urlize)`)
	walk(t, "templates", func(name, content string) {
		require.Empty(t, trusted.FindString(content), name)
		require.Empty(t, inline.FindString(content), name)
	})
	makes := regexp.MustCompile(`markup\.(Trust|Builder)|AsSafeValue`)
	walk(t, ".", func(name, content string) {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !slices.Contains([]string{"show", "chart", "markup"}, filepath.Dir(name)) {
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
