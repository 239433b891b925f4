package web

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// following is the websockets of a site, which admit again and respond with 204.
type following struct{}

func (following) ServeLive(
	w http.ResponseWriter, _ *http.Request, _ stream.Watch, _ stream.Client, admit func() (request.Info, error),
) error {
	if _, err := admit(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// followingOnce calls a function instead.
type followingOnce func(w http.ResponseWriter, admit func() (request.Info, error)) error

func (f followingOnce) ServeLive(
	w http.ResponseWriter, _ *http.Request, _ stream.Watch, _ stream.Client, admit func() (request.Info, error),
) error {
	return f(w, admit)
}

func upgrade(t *testing.T, site *Site, path string, headers ...string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Upgrade", "websocket")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w.Code
}

func TestWhoMayFollow(t *testing.T) {
	t.Parallel()
	viewer, _ := access.WorkspaceRole(access.WorkspaceViewer)
	site := siteWith(t, &stub{}, viewer.Scopes)
	require.Equal(t, 404, upgrade(t, site, "/live?topic=runs"), "without a broker")
	site.opts.Sockets = following{}
	require.Equal(t, 204, upgrade(t, site, "/live?topic=runs"))
	require.Equal(t, 204, upgrade(t, site, "/account/"+someID+"/workspace/"+someID+"/live?topic=flow-run/"+someID))
	require.Equal(t, 400, upgrade(t, site, "/live?topic=weather"))
	require.Equal(t, 400, upgrade(t, site, "/live"))
	require.Equal(t, 204, upgrade(t, site, "/live?topic=runs", "Origin: http://example.com"), "the host of the request")
	require.Equal(t, 204, upgrade(t, site, "/live?topic=runs", "Origin: http://orch.test"), "the public address")
	require.Equal(t, 403, upgrade(t, site, "/live?topic=runs", "Origin: http://evil.test"))
	require.Equal(t, 403, upgrade(t, site, "/live?topic=runs", "Origin: https://orch.test"), "another scheme of the public address")
	require.Equal(t, 403, upgrade(t, site, "/live?topic=runs", "Origin: null"))

	nobody := siteWith(t, &stub{}, access.Set{})
	nobody.opts.Sockets = following{}
	for _, topic := range []string{"runs", "events", "deliveries", "flow-run/" + someID} {
		require.Equal(t, 403, upgrade(t, nobody, "/live?topic="+topic), topic)
	}
}

// TestAFollowerEndsWithItsSession signs out while a page follows its topic.
func TestAFollowerEndsWithItsSession(t *testing.T) {
	t.Parallel()
	site := withLogin(t)
	b := &browserOf{site, map[string]string{}}
	require.Equal(t, 401, upgrade(t, site, "/live?topic=runs"))
	b.signIn(t)
	var again error
	site.opts.Sockets = followingOnce(func(w http.ResponseWriter, admit func() (request.Info, error)) error {
		_, err := admit()
		require.NoError(t, err)
		open, ok := site.opts.Sessions.Find(t.Context(), b.cookies["orch"])
		require.True(t, ok)
		require.NoError(t, site.opts.Sessions.Close(t.Context(), open.ID))
		_, again = admit()
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	require.Equal(t, 204, upgrade(t, site, "/live?topic=runs", "Cookie: orch="+b.cookies["orch"]))
	require.EqualValues(t, 401, rpc.HTTPError(again).GetStatus())
}

func TestPagesNameWhatTheyFollow(t *testing.T) {
	t.Parallel()
	all := flowRunAnswers()
	maps.Copy(all, console())
	site := siteWith(t, &stub{answers: all}, nil)
	require.NotContains(t, visit(t, site, "/runs", nil).Body.String(), "data-live", "without a broker")
	site.opts.Sockets = following{}
	for path, want := range map[string]string{
		"/": "/live?topic=runs", "/runs?state=FAILED": "/live?topic=runs", "/events": "/live?topic=events", "/webhooks": "/live?topic=deliveries",
		"/runs/flow-run/" + someID + "/logs": "/live?topic=flow-run%2F" + someID, "/runs/task-run/" + someID: "/live?topic=task-run%2F" + someID,
		"/webhooks/webhook/" + someID: "/live?topic=webhook%2F" + someID, "/variables": "", "/runs?from=-2h&to=-1h": "",
		"/account/" + someID + "/workspace/" + someID + "/runs": "/account/" + someID + "/workspace/" + someID + "/live?topic=runs",
		"/runs?older=2030-01-31T10:00:00Z_1":                    "",
	} {
		got := visit(t, site, path, nil).Body.String()
		if want == "" {
			require.NotContains(t, got, "data-live", path)
		} else {
			require.Contains(t, got, `data-live="`+want+`"`, path)
		}
	}
}

func fragmentOf(t *testing.T, site *Site, path, tag string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept", fragmentType)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

// TestFragmentsAreShared requests the content of equal pages. They are rendered once and hold nothing of one reader.
func TestFragmentsAreShared(t *testing.T) {
	t.Parallel()
	s := &stub{answers: lists()}
	site := siteWith(t, s, nil)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { require.Equal(t, 200, fragmentOf(t, site, "/runs", "").Code) })
	}
	group.Wait()
	reads := func() int {
		return len(slices.DeleteFunc(slices.Clone(s.calls), func(m string) bool { return m != orchv1.FlowRunService_ReadFlowRuns_FullMethodName }))
	}
	require.Equal(t, 1, reads())
	got := fragmentOf(t, site, "/runs", "")
	body := got.Body.String()
	require.Contains(t, body, `name="`+session.FormField+`" value=""`)
	require.NotContains(t, body, "<html")
	require.NotContains(t, body, "As API")
	require.Empty(t, got.Result().Cookies())
	again := fragmentOf(t, site, "/runs", got.Header().Get("ETag"))
	require.Equal(t, 304, again.Code)
	require.Empty(t, again.Body.String())
	require.Equal(t, 200, fragmentOf(t, site, "/runs?n=1", "").Code)
	require.Equal(t, 2, reads(), "another address")
	require.Equal(t, 400, fragmentOf(t, site, "/runs?from=yesterday", "").Code)
}

// TestFragmentsDependOnTheRole requests one address as two roles.
func TestFragmentsDependOnTheRole(t *testing.T) {
	t.Parallel()
	site := siteWith(t, &stub{answers: lists()}, nil)
	require.Contains(t, fragmentOf(t, site, "/runs", "").Body.String(), "cancel-runs")
	viewer, _ := access.WorkspaceRole(access.WorkspaceViewer)
	scoped := siteWith(t, &stub{answers: lists()}, viewer.Scopes)
	scoped.fragments = site.fragments
	require.NotContains(t, fragmentOf(t, scoped, "/runs", "").Body.String(), "cancel-runs")
}

// TestFragmentsDependOnTheAddress requests one workspace by two addresses. The links of a fragment keep its address.
func TestFragmentsDependOnTheAddress(t *testing.T) {
	t.Parallel()
	site := siteWith(t, &stub{answers: lists()}, nil)
	readerOf(site).workspace = uuid.MustParse(someID)
	const workspace = "/account/" + someID + "/workspace/" + someID
	require.NotContains(t, fragmentOf(t, site, "/runs", "").Body.String(), workspace)
	require.Contains(t, fragmentOf(t, site, workspace+"/runs", "").Body.String(), `href="`+workspace+`/runs/flow-run/`)
}

// TestFragmentsDependOnEveryPermission requests a page as two roles that differ in a permission which no action of the page needs.
func TestFragmentsDependOnEveryPermission(t *testing.T) {
	t.Parallel()
	viewer, _ := access.WorkspaceRole(access.WorkspaceViewer)
	const path = "/webhooks/webhook/" + someID
	site := siteWith(t, &stub{answers: console()}, viewer.Scopes)
	require.NotContains(t, fragmentOf(t, site, path, "").Body.String(), "Replay a range")
	replays := site.opts.API.Operation(orchv1.WebhookService_ReplayDeliveries_FullMethodName).Scope
	scoped := siteWith(t, &stub{answers: console()}, access.Union(viewer.Scopes, access.NewSet(replays)))
	scoped.fragments = site.fragments
	require.Contains(t, fragmentOf(t, scoped, path, "").Body.String(), "Replay a range")
}

// TestLivePartsHaveAnId checks what the script finds parts and rows by.
func TestLivePartsHaveAnId(t *testing.T) {
	t.Parallel()
	for _, c := range pagesUnderTest() {
		if c.status != 0 || c.form != nil {
			continue
		}
		body := visit(t, c.site(t, &stub{answers: c.answers}, nil), c.path, nil).Body.String()
		seen := map[string]bool{}
		for _, part := range strings.Split(body, " data-part=")[1:] {
			require.Contains(t, []string{`"swap"`, `"rows"`, `"append"`}, part[:strings.Index(part[1:], `"`)+2], c.path)
		}
		for _, tag := range strings.Split(body, "<")[1:] {
			tag, _, _ = strings.Cut(tag, ">")
			if !strings.Contains(tag, " data-part=") {
				continue
			}
			_, id, found := strings.Cut(tag, ` id="`)
			require.True(t, found, "%s: %s", c.path, tag)
			require.False(t, seen[id], "%s: %s", c.path, id)
			seen[id] = true
		}
	}
}
