package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/pages"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// readable fails for a page that a person cannot use: blank, without a way back, or with the server's internals.
func readable(t *testing.T, what, body string) {
	t.Helper()
	require.Contains(t, body, "<h1", what)
	require.Contains(t, body, `class="button"`, "%s: no way back", what)
	for _, internal := range []string{"goroutine ", ".go:", "panic", "rpc error", "codes."} {
		require.NotContains(t, body, internal, what)
	}
}

// TestUnknownObjects opens every page of an object that does not exist, or belongs to others: the API has one response for both.
func TestUnknownObjects(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, p := range pages.All(nil) {
		if !strings.Contains(p.Pattern, "{id}") || p.Serve != nil || strings.HasPrefix(p.Pattern, "/trace") {
			continue
		}
		tested++
		path := strings.NewReplacer("{id}", someID, "{occurred}", "2030-01-31", "{delivery_id}", someID, "{name}", "none", "{worker}", someID).Replace(p.Pattern)
		got := visit(t, siteWith(t, &stub{}, nil), path, nil)
		require.Equal(t, http.StatusNotFound, got.Code, path)
		readable(t, path, got.Body.String())
	}
	require.Greater(t, tested, 20)
}

// TestBadParameters opens lists with values that do not parse. The page names the parameter.
func TestBadParameters(t *testing.T) {
	t.Parallel()
	site := siteWith(t, &stub{answers: lists()}, nil)
	for path, parameter := range map[string]string{
		"/runs?from=yesterday": "from", "/runs?to=x": "to", "/runs?state=BROKEN": "state", "/runs?n=0": "n", "/runs?older=x": "older",
		"/runs?tz=Mars": "tz", "/runs?chart=pie": "chart", "/runs?from=1970-01-02&to=9999-12-31": "from", "/?from=x": "from", "/flows?skip=-1": "skip",
		"/runs?q=" + strings.Repeat("x", 501): "q", "/runs/flow-run/" + someID + "?at=x": "at",
	} {
		got := visit(t, site, path, nil)
		require.Equal(t, http.StatusBadRequest, got.Code, path)
		require.Contains(t, got.Body.String(), "The parameter "+parameter+" of the address", path)
		readable(t, path, got.Body.String())
	}
}

// TestExtremeValues shows runs with the longest names and times that the API takes, and a log far behind its beginning.
func TestExtremeValues(t *testing.T) {
	t.Parallel()
	far := timestamppb.New(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	all := flowRunAnswers()
	run := proto.CloneOf(all[orchv1.FlowRunService_ReadFlowRun_FullMethodName].(*orchv1.FlowRun))
	emoji := strings.Repeat("🦑", 255)
	run.Name, run.ExpectedStartTime, run.NextScheduledStartTime = emoji, far, far
	run.State.Message = proto.String(strings.Repeat("message ", 10_000))
	all[orchv1.FlowRunService_ReadFlowRun_FullMethodName] = run
	all[orchv1.FlowRunService_ReadFlowRuns_FullMethodName] = &orchv1.FlowRunList{FlowRuns: []*orchv1.FlowRun{run}}
	all[orchv1.FlowService_ReadFlow_FullMethodName] = &orchv1.Flow{Id: someID, Name: emoji}
	full := &orchv1.LogList{}
	for range 200 {
		full.Logs = append(full.Logs, &orchv1.Log{Id: someID, Level: 20, Message: "line", Timestamp: far})
	}
	all[orchv1.LogService_ReadLogs_FullMethodName] = full
	s := &stub{answers: all}
	site := siteWith(t, s, nil)
	for _, path := range []string{"/runs", "/runs/flow-run/" + someID, "/runs/flow-run/" + someID + "/states"} {
		got := visit(t, site, path, nil)
		require.Equal(t, http.StatusOK, got.Code, path)
		require.Contains(t, got.Body.String(), "🦑…🦑", "%s: the name is cut", path)
		require.Less(t, got.Body.Len(), 300_000, path)
	}
	require.Contains(t, visit(t, site, "/runs/flow-run/"+someID, nil).Body.String(), "9999-12-31")
	before := len(s.calls)
	got := visit(t, site, "/runs/flow-run/"+someID+"/logs?skip=999000", nil) // Of a million lines, the last thousand.
	require.Equal(t, http.StatusOK, got.Code)
	require.Contains(t, got.Body.String(), `id="L1000000"`)
	require.Less(t, len(s.calls)-before, 12, "the page reads its own lines only")
}

// TestTheYear9999 opens addresses and submits forms with the last times that the API takes. None is an error of the server.
func TestTheYear9999(t *testing.T) {
	t.Parallel()
	all := objectAnswers()
	all[orchv1.EventService_ReadEvents_FullMethodName] = &orchv1.EventPage{}
	site := siteWith(t, &stub{answers: all}, nil)
	for path, status := range map[string]int{
		"/events/event/9999-12-31/" + someID:                            404,
		"/events/event/1970-01-01/" + someID:                            404,
		"/events?from=9999-12-30&to=9999-12-31T23:59:59Z":               200,
		"/runs?from=9999-12-30&to=9999-12-31T23:59:59Z&tz=Etc/GMT%2B12": 200,
		"/runs?older=9999-12-31T23:59:59Z_0":                            200,
		"/runs?older=10000-01-01T00:00:00Z_0":                           400,
		"/events/event/10000-01-01/" + someID:                           400,
		"/runs/flow-run/" + someID + "?at=9999-12-31":                   400,
	} {
		require.Equal(t, status, visit(t, site, path, nil).Code, path)
	}
	got := visit(t, site, "/deployments/deployment/"+someID+"/run?tz=Etc/GMT%2B12", url.Values{
		"action": {"run-deployment"}, "p.limit": {"1"}, "p.mode": {`"full"`}, "name": {"typed"}, "start": {"9999-12-31T23:59"},
	})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "year is outside expected range")
	require.Contains(t, got.Body.String(), `value="typed"`)
}

// TestEveryParameterIsChecked opens every page with each parameter and values that do not fit. None is an error of the server.
func TestEveryParameterIsChecked(t *testing.T) {
	t.Parallel()
	all := objectAnswers()
	site := siteWith(t, &stub{answers: all}, nil)
	bad := []string{"-1", "<script>", "9999-12-31"}
	names := []string{
		"from", "to", "at", "state", "flow", "deployment", "tag", "q", "n", "older", "page", "skip", "offset", "tz", "chart", "level", "logger", "attempt", "sort", "wait",
		"event", "resource", "status", "reason", "replayed", "after", "delivery", "webhook", "preset", "like", "did", "count", "address", "topic",
	}
	for i, p := range pages.All(nil) {
		path := strings.NewReplacer("{id}", someID, "{occurred}", "2030-01-31", "{delivery_id}", someID, "{name}", "kubernetes", "{worker}", someID, "{kind}", "event").Replace(p.Pattern)
		for j, name := range names {
			value := bad[(i+j)%len(bad)] // Each pair of a page and a parameter gets one, to be done in a second.
			got := visit(t, site, path+"?"+name+"="+url.QueryEscape(value), nil)
			require.Contains(t, []int{200, 303, 400, 403, 404, 422, 503}, got.Code, "%s %s=%q", path, name, value)
			require.NotContains(t, got.Body.String(), "<script>", "%s %s=%q", path, name, value)
		}
	}
}

// TestASessionThatExpiresInAForm submits a form after the session has ended. Nothing is done, and the browser keeps what was typed: the
// page says how to send it again.
func TestASessionThatExpiresInAForm(t *testing.T) {
	t.Parallel()
	site := withLogin(t)
	b := &browserOf{site, map[string]string{}}
	b.signIn(t)
	form := url.Values{"action": {"webhook-create"}, "name": {"typed"}, session.FormField: {b.token(t, "/runs")}}
	open, ok := site.opts.Sessions.Find(t.Context(), b.cookies["orch"])
	require.True(t, ok)
	require.NoError(t, site.opts.Sessions.Close(t.Context(), open.ID))
	got := b.do(t, "POST", "/webhooks/new", form)
	require.Equal(t, http.StatusUnauthorized, got.Code)
	require.Contains(t, got.Body.String(), "Sign in in another tab")
	readable(t, "expired session", got.Body.String())

	// The form of the old session is sent again after the sign-in: the page asks, and keeps what was typed.
	b.signIn(t)
	got = b.do(t, "POST", "/webhooks/new", form)
	require.Equal(t, http.StatusForbidden, got.Code)
	require.Contains(t, got.Body.String(), `name="name" value="typed"`)
	require.Contains(t, got.Body.String(), "Nothing was done yet")
	form.Set(session.FormField, b.token(t, "/runs"))
	require.NotEqual(t, http.StatusForbidden, b.do(t, "POST", "/webhooks/new", form).Code)
	require.Equal(t, http.StatusForbidden, b.do(t, "POST", "/webhooks/new", url.Values{"name": {"x"}}, "Sec-Fetch-Site: cross-site").Code)
	require.NotContains(t, b.do(t, "POST", "/webhooks/new", url.Values{"name": {"x"}}, "Sec-Fetch-Site: cross-site").Body.String(), "Send the form again")
}
