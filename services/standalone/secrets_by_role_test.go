package standalone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/access/accesstest"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// guarded are objects with secrets, and what they contain.
type guarded struct {
	// paths has the value of the variables of each path that begins so; the longest beginning counts.
	paths map[string]string
	// secrets are never in an answer.
	secrets []string
	// scoped are texts by the scope that a caller needs to see them.
	scoped map[string]string
	// rows are texts of the objects that only members of the workspace see.
	rows []string
}

// deadLetterReason is the reason of a dead letter, which operators see.
const deadLetterReason = "canary-dead-letter"

// withDeadLetter returns a data directory with a dead letter of the default workspace.
func withDeadLetter(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	dir, err := datadir.Open(path, vocabulary.Orch)
	require.NoError(t, err)
	nats, err := embeddednats.Start(embeddednats.Options{Dir: dir.NATS()})
	require.NoError(t, err)
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats})
	require.NoError(t, err)
	refused := &broker.Event{ID: uuid.New(), Source: "test", Type: "canary-row", Workspace: request.DefaultWorkspace}
	require.NoError(t, conn.DeadLetterEvent(t.Context(), broker.DurableAutomations, refused, 1, errors.New(deadLetterReason)))
	conn.Close()
	require.NoError(t, nats.Close())
	return path
}

// guard makes objects with secrets in the default account.
func (h *hosted) guard() guarded {
	h.t.Helper()
	ws := workspacePath
	create := func(status int, path, body string) map[string]any { return h.must(h.owner, status, "POST", path, body) }
	kind := at(create(201, ws+"/block_types/", `{"name": "Vault", "slug": "vault"}`), "id")
	schema := at(create(201, ws+"/block_schemas/", fmt.Sprintf(
		`{"block_type_id": %q, "fields": {"title": "Vault", "type": "object", "block_type_slug": "vault", "secret_fields": ["token", "deep.token"]}}`, kind)), "id")
	document := at(create(201, ws+"/block_documents/", fmt.Sprintf(
		`{"name": "mine", "block_type_id": %q, "block_schema_id": %q, "data": {"token": "canary-block", "deep": {"token": "canary-block"}}}`, kind, schema)), "id")
	hook := create(201, ws+"/webhooks/", `{"name": "w", "template": "{}", "verification": {"scheme": "github", "secrets": ["canary-signing-secret"]},
		"handshakes": ["meta"], "verify_token": "canary-verify-token"}`)
	bot := create(201, accountPath+"/bots/", `{"name": "bot"}`)
	member := create(201, accountPath+"/account_memberships/", `{"email": "guarded@example.com"}`)
	automation := at(create(201, ws+"/automations/", fmt.Sprintf(
		`{"name": "a", "trigger": {"type": "event", "posture": "Reactive", "expect": ["x"], "threshold": 1, "within": 0},
		"actions": [{"type": "call-webhook", "block_document_id": %q, "payload": "{}"}]}`, document)), "id")
	flow := at(create(201, ws+"/flows/", `{"name": "f"}`), "id")
	run := at(create(201, ws+"/flow_runs/", fmt.Sprintf(`{"flow_id": %q, "state": {"type": "PENDING"}}`, flow)), "id")
	deployment := at(create(201, ws+"/deployments/", fmt.Sprintf(`{"name": "d", "flow_id": %q, "infrastructure_document_id": %q}`, flow, document)), "id")
	variable := at(create(201, ws+"/variables/", `{"name": "canary_variable", "value": "canary-value"}`), "id")
	create(201, ws+"/artifacts/", fmt.Sprintf(`{"key": "canary-artifact", "data": "canary-row", "type": "markdown", "flow_run_id": %q}`, run))
	create(201, ws+"/work_pools/", `{"name": "canary-pool", "type": "process"}`)
	now := time.Now().UTC().Format(time.RFC3339)
	create(204, ws+"/events", fmt.Sprintf(`[{"id": %q, "occurred": %q, "event": "canary-row", "resource": {"orch.resource.id": "canary-row"}}]`, uuid.NewString(), now))
	create(201, ws+"/logs/", fmt.Sprintf(`[{"name": "n", "level": 20, "message": "canary-row", "timestamp": %q, "flow_run_id": %q}]`, now, run))
	root := strings.TrimSuffix(h.root, "/api")
	require.Equal(h.t, 401, h.send("POST", root+"/hooks/"+at(hook, "slug"), `{"a": "canary-row"}`, "X-Hub-Signature-256", "sha256=00").status)
	open := create(201, ws+"/webhooks/", `{"name": "open", "template": "{\"event\": \"canary-row\", \"resource\": {\"orch.resource.id\": \"canary-row\"}}"}`)
	require.Equal(h.t, 204, h.send("POST", root+"/hooks/"+at(open, "slug"), `{"a": "canary-row"}`).status)
	destination := create(201, ws+"/v2/destinations/", `{"name": "canary-destination", "url": "https://example.com", "headers": {"X-Key": "canary-header"},
		"secret": "whsec_Y2FuYXJ5LWRlc3RpbmF0aW9u"}`)
	var eventTypes []map[string]any
	require.Eventually(h.t, func() bool {
		found := h.do(h.owner, "POST", ws+"/v2/event_types/filter", `{"event_types": {"name": {"any_": ["canary-row"]}}}`)
		return json.Unmarshal([]byte(found.body), &eventTypes) == nil && len(eventTypes) == 1
	}, time.Minute, 20*time.Millisecond)
	none := uuid.NewString()
	return guarded{
		paths: map[string]string{
			"/accounts/{account_id}/account_memberships/": at(member, "id"), "/accounts/{account_id}/account_roles/": access.AccountMember,
			"/accounts/{account_id}/bots/": at(bot, "id"), "/accounts/{account_id}/teams/": none,
			"/accounts/{account_id}/workspace_roles/": access.WorkspaceViewer, "/accounts/{account_id}/workspaces/": strings.TrimPrefix(workspacePath, accountPath+"/workspaces/"),
			"/admin/": none, "/admin/dead_letters/": "1", "/artifacts/": none, "/automations/": automation, "/automations/related-to/": "orch.deployment." + deployment,
			"/automations/owned-by/": "orch.deployment." + deployment, "/block_documents/": document,
			"/block_schemas/": schema, "/block_types/": kind, "/block_types/slug/": "vault", "/bot_access/": none,
			"/collections/": "aggregate-worker-metadata", "/concurrency_limits/": none, "/deployments/": deployment, "/events/": "canary-row",
			"/flow_run_states/": none, "/flow_runs/": run, "/flows/": flow, "/saved_searches/": none, "/task_run_states/": none, "/task_runs/": none,
			"/team_access/": none, "/ui/": none, "/user_access/": none, "/users/": at(member, "user_id"), "/v2/backfills/": none, "/v2/concurrency_limits/": none, "/v2/destinations/": at(destination, "id"),
			"/v2/event_types/": at(eventTypes[0], "id"),
			"/variables/":      variable, "/webhooks/": at(hook, "id"), "/work_pools/": "canary-pool", "/work_queues/": none,
		},
		secrets: []string{"canary-signing-secret", "canary-verify-token", "canary-header", "Y2FuYXJ5LWRlc3RpbmF0aW9u", at(bot, "api_key", "key"), at(member, "api_key", "key"), h.owner},
		scoped: map[string]string{
			"read_block_secrets": "canary-block", "read_webhook_addresses": at(hook, "slug"), "administer_server": deadLetterReason,
			"see_audit_events": "orch-cloud.service-account.created",
		},
		rows: []string{"canary-value", "canary_variable", "canary-row", "canary-pool", document, automation, deployment, run, variable, at(hook, "id"), at(bot, "id"), at(member, "id")},
	}
}

// fill replaces the variables of a route by values of guarded objects; false if the table has no row for the route.
func (g guarded) fill(r route, account string) (string, bool) {
	if !strings.Contains(strings.ReplaceAll(r.path, "{account_id}", ""), "{") {
		return r.fill(account, ""), true
	}
	best := ""
	for prefix := range maps.Keys(g.paths) {
		if strings.HasPrefix(r.path, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return strings.ReplaceAll(r.fill(account, "\x00"), "\x00", url.PathEscape(g.paths[best])), best != ""
}

// reader is the caller of the requests.
type reader struct {
	name, key string
	scopes    access.Set
	// foreign is true for one who sees nothing of the account.
	foreign bool
	// prefix is the workspace's beginning of a path of the API.
	prefix string
}

// path returns the path of a route for the reader: routes of a workspace have a prefix.
func (r reader) path(route string) string {
	for _, prefix := range []string{"/accounts/", "/users/", "/me", "/admin/"} {
		if strings.HasPrefix(route, prefix) {
			return route
		}
	}
	return r.prefix + route
}

// check fails if a text shows a reader what only others see, and returns the scopes of the texts that it shows. asked is what the
// reader sent, which an answer may repeat.
func (g guarded) check(t *testing.T, who reader, asked, text string) (shown []string) {
	t.Helper()
	for _, secret := range g.secrets {
		require.NotContains(t, text, secret, "%s: %s", who.name, asked)
	}
	for scope, secret := range g.scoped {
		if !who.scopes.Has(scope) {
			require.NotContains(t, text, secret, "%s: %s", who.name, asked)
		}
	}
	if who.foreign {
		for _, row := range g.rows {
			if !strings.Contains(asked, row) {
				require.NotContains(t, text, row, "%s: %s", who.name, asked)
			}
		}
	}
	for scope, secret := range g.scoped {
		if strings.Contains(text, secret) {
			shown = append(shown, scope)
		}
	}
	return shown
}

// readRoutes asks every route that reads, and returns the scopes of the texts that the answers show.
func (h *hosted) readRoutes(t *testing.T, g guarded, who reader) []string {
	t.Helper()
	shown := map[string]bool{}
	for _, r := range routes() {
		if r.option.GetPublic() || !access.ReadOnly(r.option.GetScope()) && r.method != http.MethodGet {
			continue
		}
		path, exists := g.fill(r, strings.TrimPrefix(accountPath, "/accounts/"))
		require.True(t, exists, "%s %s: the table has no object for it", r.method, r.path)
		path = who.path(path)
		bodies := map[bool][]string{true: {"{}", `{"include_secrets": true}`}, false: {""}}[r.method != http.MethodGet]
		for _, body := range bodies {
			for _, query := range []string{"", "?include_secrets=true"} {
				got := h.do(who.key, r.method, path+query, body)
				if who.foreign {
					require.Contains(t, []int{200, 401, 403, 404, 422}, got.status, "%s: %s %s: %s", who.name, r.method, path, got.body)
				}
				if strings.HasPrefix(r.path, "/admin/dead_letters") && !who.scopes.Has("administer_server") {
					require.Contains(t, []int{401, 403, 404}, got.status, "%s: %s %s: %s", who.name, r.method, path, got.body)
				}
				for _, scope := range g.check(t, who, r.method+" "+path+query, got.body) {
					shown[scope] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(shown))
}

// writeRoutes asks every route that writes, without a valid body for most: its answer is an echo, an error or the object. Strangers change
// nothing of the account. Members delete nothing, so that the next one finds the objects.
func (h *hosted) writeRoutes(t *testing.T, g guarded, who reader) {
	t.Helper()
	for _, r := range routes() {
		if r.option.GetPublic() || r.method == http.MethodGet || access.ReadOnly(r.option.GetScope()) || r.method == http.MethodDelete && !who.foreign {
			continue
		}
		path, exists := g.fill(r, strings.TrimPrefix(accountPath, "/accounts/"))
		require.True(t, exists, "%s %s: the table has no object for it", r.method, r.path)
		path = who.path(path)
		got := h.do(who.key, r.method, path, "{}")
		require.Less(t, got.status, http.StatusInternalServerError, "%s: %s %s: %s", who.name, r.method, path, got.body)
		if who.foreign && strings.HasPrefix(path, accountPath+"/") {
			require.GreaterOrEqual(t, got.status, http.StatusBadRequest, "%s: %s %s: %s", who.name, r.method, path, got.body)
		}
		g.check(t, who, r.method+" "+path, got.body)
	}
}

// page reads a page of the dashboard.
func (h *hosted) page(key, path string) reply {
	h.t.Helper()
	headers := []string{"Accept", "text/html"}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return h.send(http.MethodGet, strings.TrimSuffix(h.root, "/api")+path, "", headers...)
}

var link = regexp.MustCompile(`(?:href|src|hx-get)="(/[^"#]*)`)

// pages returns the paths of the pages that a reader reaches by links, a few of each kind. kinds are the paths without ids and queries.
func (h *hosted) pages(key string) (paths []string, kinds map[string]int) {
	h.t.Helper()
	const ofAKind = 3
	kinds, seen := map[string]int{}, map[string]bool{"/": true}
	for waiting := []string{"/"}; len(waiting) > 0; waiting = waiting[1:] {
		path := waiting[0]
		paths = append(paths, path)
		got := h.page(key, path)
		require.Less(h.t, got.status, http.StatusInternalServerError, "%s: %s", path, got.body)
		for _, found := range link.FindAllStringSubmatch(got.body, -1) {
			next := html.UnescapeString(found[1])
			bare, _, _ := strings.Cut(next, "?")
			kind := uuids.ReplaceAllString(bare, "{id}")
			if seen[next] || kinds[kind] >= ofAKind || strings.HasPrefix(next, "/static/") || strings.HasPrefix(next, "/api/") || strings.HasPrefix(next, "/docs") {
				continue
			}
			seen[next] = true
			kinds[kind]++
			waiting = append(waiting, next)
		}
	}
	return paths, kinds
}

// listen reads a socket of past and new messages until one that has the text, or until the server closes it. Everything is checked.
func (h *hosted) listen(t *testing.T, g guarded, who reader, path, filter, last string, write func()) {
	t.Helper()
	conn, status := h.dialSocket(who.prefix+path, "")
	if status != http.StatusSwitchingProtocols {
		return
	}
	conn.SetReadLimit(-1)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for _, message := range []string{fmt.Sprintf(`{"type":"auth","token":%q}`, who.key), filter} {
		if conn.Write(ctx, websocket.MessageText, []byte(message)) != nil {
			return
		}
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // Nothing tells when a subscription has begun.
		for writing.Err() == nil {
			write()
			select {
			case <-writing.Done():
			case <-time.After(tick):
			}
		}
	}()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			require.NotEqual(t, websocket.StatusCode(-1), websocket.CloseStatus(err), "%s: %s: %v", who.name, path, err)
			return
		}
		g.check(t, who, path+filter, string(text))
		if strings.Contains(string(text), last) {
			return
		}
	}
}

// listenToAll opens the sockets that show events, logs, deliveries and work pools.
func (h *hosted) listenToAll(t *testing.T, g guarded, who reader, writer string) {
	t.Helper()
	last := uuid.NewString()
	h.listen(t, g, who, "/events/out", `{"type":"filter","filter":{"event":{"prefix":[""]}}}`, last, func() {
		h.do(writer, http.MethodPost, who.prefix+"/events", fmt.Sprintf(
			`[{"id": %q, "occurred": %q, "event": "last", "resource": {"orch.resource.id": %q}}]`, uuid.NewString(), time.Now().UTC().Format(time.RFC3339), last))
	})
	h.listen(t, g, who, "/logs/out", `{"type":"filter","filter":{"level":{"ge_":0}}}`, last, func() {
		h.do(writer, http.MethodPost, who.prefix+"/logs/", fmt.Sprintf(
			`[{"name": "n", "level": 20, "message": %q, "timestamp": %q, "flow_run_id": %q}]`, last, time.Now().UTC().Format(time.RFC3339), uuid.NewString()))
		h.do(h.owner, http.MethodPost, workspacePath+"/logs/", fmt.Sprintf(
			`[{"name": "n", "level": 20, "message": "canary-row", "timestamp": %q, "flow_run_id": %q}]`, time.Now().UTC().Format(time.RFC3339), uuid.NewString()))
	})
	received := "canary-row"
	if who.foreign {
		received = "listening" // The first message.
	}
	h.listen(t, g, who, "/deliveries/out", `{"type":"listen","since":"2020-01-01T00:00:00Z"}`, received, func() {})
	if who.key == "" || who.prefix == workspacePath { // A worker creates the pool in a workspace of its own.
		h.listen(t, g, who, "/work_pools/canary-pool/workers/connect", helloOfWorker, "worker.ready", func() {})
	}
}

// TestSecretsByRole asks every route, every page and the sockets of events, logs, deliveries and workers, about objects with secrets, as
// every role and as strangers: no answer has a secret; block secrets, addresses of webhooks, dead letters and audit events are in answers to
// callers with their scope alone; and strangers see no row. A route of a new kind needs a row in the table.
func TestSecretsByRole(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch", "ORCH_DATA_DIR", withDeadLetter(t))
	g := h.guard()
	pages, kinds := h.pages(h.owner)
	require.Greater(t, len(kinds), 40, "the links lead to the pages: %v", kinds)
	readPages := func(who reader, paths []string) {
		for _, path := range paths {
			g.check(t, who, path, h.page(who.key, path).body)
		}
	}
	all := slices.Sorted(maps.Keys(g.scoped))
	owner := reader{name: "the owner", key: h.owner, scopes: access.NewSet(all...), prefix: workspacePath}
	require.Equal(t, all, h.readRoutes(t, g, owner), "the objects are those that the routes show")
	var members []reader
	for i, member := range accesstest.Members() {
		who := reader{
			name: member.Name, key: h.memberWith(fmt.Sprintf("reader-%d", i), member.AccountRole, member.WorkspaceRole),
			scopes: member.Scopes, prefix: workspacePath,
		}
		may := slices.DeleteFunc(slices.Clone(all), func(scope string) bool { return !member.Scopes.Has(scope) })
		require.ElementsMatch(t, may, h.readRoutes(t, g, who), member.Name)
		readPages(who, pages)
		own, _ := h.pages(who.key)
		readPages(who, own)
		h.listenToAll(t, g, who, h.owner)
		members = append(members, who)
	}
	stranger := h.tenant("stranger")
	strangers := []reader{
		{name: "a stranger in the workspace", key: stranger.key, foreign: true, prefix: workspacePath},
		{name: "a stranger in their own", key: stranger.key, foreign: true, prefix: stranger.workspacePath()},
		{name: "a stranger of two accounts", key: stranger.key, foreign: true, prefix: stranger.accountPath() + strings.TrimPrefix(workspacePath, accountPath)},
		{name: "nobody", foreign: true},
	}
	for _, who := range strangers {
		require.Empty(t, h.readRoutes(t, g, who), who.name)
		readPages(who, pages)
		writer := who.key
		if who.prefix == workspacePath {
			writer = h.owner
		}
		h.listenToAll(t, g, who, writer)
	}
	own, _ := h.pages(stranger.key)
	readPages(reader{name: "a stranger", key: stranger.key, foreign: true}, own)
	for _, who := range append(strangers, members...) { // Last, because some members change the objects.
		h.writeRoutes(t, g, who)
	}
}
