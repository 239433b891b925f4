package rest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
)

// fewRows are the lists that the test fills with fewer rows than two pages have.
var fewRows = map[string]bool{
	"POST /automations/{id}/deliveries/filter":     true,
	"GET /webhooks/{id}/deliveries":                true,
	"POST /webhooks/{id}/deliveries/filter":        true,
	"POST /v2/destinations/{id}/deliveries/filter": true,
}

// TestPagesByTokens reads every list that has page tokens twice: as one page, and by tokens in pages of two. It finds the lists by
// the response header in the document.
func TestPagesByTokens(t *testing.T) {
	t.Parallel()
	s := start(t, "ORCH_AUTH", "keys")
	f := newFixtures(s)
	fillLists(f)
	var foreign string // The token of another list.
	lists := 0
	for path, item := range s.document.Paths.Map() {
		for method, op := range item.Operations() {
			ok := op.Responses.Status(http.StatusOK)
			if ok == nil || ok.Value.Headers[request.NextPageTokenHeader] == nil {
				continue
			}
			lists++
			l := list{server: s, operation: method + " " + path, method: method, path: f.path(op, path), op: op}
			rows, token := l.readTwice()
			require.True(t, len(rows) >= 4 || fewRows[l.operation], "%s has %d rows: add rows to fillLists", l.operation, len(rows))
			if token == "" {
				continue
			}
			l.refuses(t, "malformed", `"page_token": "x"`, "page_token=x")
			l.refuses(t, "malformed", `"page_token": `+quoted(t, token[:len(token)-2]), "page_token="+token[:len(token)-2])
			l.refuses(t, "exclude each other", `"page_token": `+quoted(t, token)+`, "offset": 1, "page": 2`, "offset=1&page_token="+token)
			if foreign != "" {
				l.refuses(t, "another operation", `"page_token": `+quoted(t, foreign), "page_token="+foreign)
			}
			foreign = token
		}
	}
	require.Greater(t, lists, 35)
}

// TestPageTokensBelongToTheirList checks the errors for a token of another filter, sort and workspace.
func TestPageTokensBelongToTheirList(t *testing.T) {
	t.Parallel()
	s := start(t, "ORCH_AUTH", "keys")
	f := newFixtures(s)
	for range 3 {
		f.create["flow"]()
	}
	ask := func(prefix, body string, status int) answer {
		got := s.send("POST", prefix+"/flows/filter", body, nil)
		require.Equal(t, status, got.status, "%s", got.body)
		return got
	}
	named := `"flows": {"name": {"like_": "fixture"}}`
	token := quoted(t, ask("", `{`+named+`, "limit": 1}`, 200).header.Get(request.NextPageTokenHeader))
	for body, reason := range map[string]string{
		`{"page_token": ` + token + `}`:                                     "another filter",
		`{` + named + `, "sort": "NAME_DESC", "page_token": ` + token + `}`: "another sort",
	} {
		got := ask("", body, 422)
		require.Contains(t, string(got.body), reason)
		require.Equal(t, []any{"body", "page_token"}, got.at("exception_detail.0.loc"))
	}
	other := "/accounts/" + f.get("account") + "/workspaces/" + f.get("workspace")
	require.Contains(t, string(ask(other, `{`+named+`, "page_token": `+token+`}`, 422).body), "another workspace")
	require.Len(t, ask("", `{`+named+`, "sort": "NAME_ASC", "limit": 200, "page_token": `+token+`}`, 200).at(""), 2, "another page size")
	require.Empty(t, ask("", `{`+named+`, "limit": 0, "page_token": `+token+`}`, 200).header.Get(request.NextPageTokenHeader))
}

// Pages of paginate continue the number of the page that the token comes from.
func TestPageTokensContinueNumbers(t *testing.T) {
	t.Parallel()
	s := start(t)
	f := newFixtures(s)
	for range 3 {
		f.create["flow"]()
	}
	second := s.visit(200, "POST /flows/paginate", `{"limit": 1, "page": 2}`)
	token := second.header.Get(request.NextPageTokenHeader)
	third := s.visit(200, "POST /flows/paginate", `{"limit": 1, "page_token": `+quoted(t, token)+`}`)
	require.InDelta(t, 3, third.at("page"), 0)
	require.InDelta(t, 3, third.at("count"), 0)
	require.NotEqual(t, second.text("results.0.id"), third.text("results.0.id"))
	require.NotEmpty(t, third.header.Get(request.NextPageTokenHeader), "the page is full")
}

// A row with a long name is found again by its id, because a token holds no long texts.
func TestPageTokensOfLongNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	f := newFixtures(s)
	long := strings.Repeat("\U0001F680", 499)
	ids := map[string]string{}
	for _, name := range []string{"1", "2", "3"} {
		ids[name] = s.visit(201, "POST /flow_runs/", f.expand(`{"flow_id": "{flow}", "name": "`+long+name+`"}`)).text("id")
	}
	page := `{"sort": "NAME_ASC", "limit": 1, "page_token": `
	second := s.visit(200, "POST /flow_runs/filter", `{"sort": "NAME_ASC", "limit": 1}`).header.Get(request.NextPageTokenHeader)
	require.Less(t, len(second), 300)
	got := s.visit(200, "POST /flow_runs/filter", page+quoted(t, second)+"}")
	require.Equal(t, long+"2", got.text("0.name"))
	s.visit(204, "DELETE /flow_runs/{id}", "", ids["1"])
	require.Contains(t, string(s.visit(422, "POST /flow_runs/filter", page+quoted(t, second)+"}").body), "expired")
}

// list is an operation with pages.
type list struct {
	*server

	operation, method, path string
	op                      *openapi3.Operation
}

// send sends a request with members of the body, or with a query.
func (l list) send(body, query string) answer {
	l.t.Helper()
	if l.method == http.MethodGet {
		return l.server.send(l.method, l.path+"?"+query, "", nil)
	}
	return l.server.send(l.method, l.path, "{"+body+"}", nil)
}

// readTwice reads the list as one page, and by tokens in pages of two. It returns the rows, and the token of the second page. A list that
// changes meanwhile is read again: event types are created while the test runs.
func (l list) readTwice() (rows []string, token string) {
	l.t.Helper()
	whole, _ := l.page(`"limit": 200`, "limit=200")
	for {
		var next string
		rows, next = l.page(`"limit": 2`, "limit=2")
		token = next
		for next != "" {
			var page []string
			page, next = l.page(`"limit": 2, "page_token": `+quoted(l.t, next), "limit=2&page_token="+next)
			rows = append(rows, page...)
		}
		before := whole
		if whole, _ = l.page(`"limit": 200`, "limit=200"); slices.Equal(before, whole) {
			require.Equal(l.t, whole, rows, l.operation)
			return rows, token
		}
	}
}

// page returns the rows of a page, and the token of the next one. A link leads to the same page.
func (l list) page(body, query string) (rows []string, next string) {
	l.t.Helper()
	got := l.send(body, query)
	require.Equal(l.t, http.StatusOK, got.status, "%s: %s", l.operation, got.body)
	next = got.header.Get(request.NextPageTokenHeader)
	link := got.header.Get("Link")
	require.Equal(l.t, next != "" && l.method == http.MethodGet, link != "", l.operation)
	if link != "" {
		address, ok := strings.CutPrefix(link, "<"+l.api)
		require.True(l.t, ok, link)
		address, ok = strings.CutSuffix(address, `>; rel="next"`)
		require.True(l.t, ok, link)
		require.Equal(l.t, http.StatusOK, l.server.send(http.MethodGet, address, "", nil).status)
	}
	var page []map[string]any
	if strings.HasSuffix(l.path, "/paginate") {
		results, err := json.Marshal(got.at("results"))
		require.NoError(l.t, err)
		require.NoError(l.t, json.Unmarshal(results, &page))
	} else {
		require.NoError(l.t, json.Unmarshal(got.body, &page))
	}
	for _, row := range page {
		id, ok := row["id"].(string)
		require.True(l.t, ok, "%s: %v", l.operation, row)
		rows = append(rows, id)
	}
	return rows, next
}

// refuses expects a 422 for the token.
func (l list) refuses(t *testing.T, reason, body, query string) {
	t.Helper()
	got := l.send(body, query)
	require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s: %s", l.operation, got.body)
	require.Contains(t, string(got.body), reason, l.operation)
	in := "body"
	if l.method == http.MethodGet {
		in = "query"
	}
	require.Equal(t, in, got.at("exception_detail.0.loc.0"), "%s: %s", l.operation, got.body)
}

// fillLists creates five rows for each list.
func fillLists(f *fixtures) {
	puts := map[string]bool{"/saved_searches/": true, "/team_access/": true}
	for range 5 {
		for _, name := range []string{
			"flow", "flow run", "task run", "deployment", "artifact", "variable", "limit", "tag", "webhook", "automation", "event type", "destination", "backfill", "block type",
			"work pool", "queue name", "service account", "team", "workspace",
		} {
			f.create[name]()
		}
		delete(f.made, "block type") // A schema and a document for each type.
		delete(f.made, "block schema")
		delete(f.made, "block document")
		f.get("block document")
		delete(f.made, "team") // A role in the workspace for each team.
		for path, body := range map[string]string{
			"/logs/":           `[{"name": "a", "level": 20, "message": "{name}", "timestamp": "2026-01-02T03:04:05Z", "flow_run_id": "{flow run}"}]`,
			"/saved_searches/": `{"name": "{name}"}`,
			"/team_access/":    `[{"workspace_role_id": "{workspace role}", "team_id": "{team}"}]`,
			"/work_pools/{work pool}/workers/heartbeat": `{"name": "{name}"}`,
		} {
			method := http.MethodPost
			if puts[path] {
				method = http.MethodPut
			}
			got := f.s.send(method, f.expand(path), f.expand(body), nil)
			require.Less(f.t, got.status, 300, "%s: %s", path, got.body)
		}
	}
}
