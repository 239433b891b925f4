package standalone_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/openapi"
)

// mark is in every name that the observed tenant gives; nothing else contains it.
const mark = "alphasecret"

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// furnish makes one of everything in a tenant, and returns the ids of all of it.
func (h *hosted) furnish(at tenant, name string) []string {
	h.t.Helper()
	var ids []string
	create := func(status int, path, body string) string {
		h.t.Helper()
		got := h.do(at.key, "POST", path, body)
		require.Contains(h.t, []int{status, 200, 201}, got.status, "%s: %s", path, got.body)
		for _, id := range uuids.FindAllString(got.body, -1) {
			if !slices.Contains(ids, id) && !strings.HasPrefix(id, "00000000-") {
				ids = append(ids, id)
			}
		}
		if found := regexp.MustCompile(`"id":"([^"]*)"`).FindStringSubmatch(got.body); found != nil {
			return found[1]
		}
		return ""
	}
	ws, account := at.workspacePath(), at.accountPath()
	flow := create(201, ws+"/flows/", fmt.Sprintf(`{"name": "%s-flow"}`, name))
	run := create(201, ws+"/flow_runs/", fmt.Sprintf(`{"name": "%s-run", "flow_id": %q, "state": {"type": "PENDING"}}`, name, flow))
	create(201, ws+"/task_runs/", fmt.Sprintf(`{"name": "%s-task", "flow_run_id": %q, "task_key": "k", "dynamic_key": "0"}`, name, run))
	create(201, ws+"/deployments/", fmt.Sprintf(`{"name": "%s-deployment", "flow_id": %q}`, name, flow))
	create(201, ws+"/variables/", fmt.Sprintf(`{"name": "%s_variable", "value": "%s"}`, name, name))
	create(201, ws+"/artifacts/", fmt.Sprintf(`{"key": "%s-artifact", "data": "%s", "type": "markdown", "flow_run_id": %q}`, name, name, run))
	create(201, ws+"/v2/concurrency_limits/", fmt.Sprintf(`{"name": "%s-limit", "limit": 3}`, name))
	create(201, ws+"/webhooks/", fmt.Sprintf(`{"name": "%s-webhook", "template": "{}"}`, name))
	create(204, ws+"/events", fmt.Sprintf(`[{"id": "%s", "occurred": "2026-11-22T00:00:00Z", "event": "%s", "resource": {"orch.resource.id": "%s"}}]`, flow, name, name))
	bot := create(201, account+"/bots/", fmt.Sprintf(`{"name": "%s-bot"}`, name))
	create(200, ws+"/bot_access/", fmt.Sprintf(`{"workspace_role_id": %q, "bot_id": %q}`, access.WorkspaceViewer, bot))
	create(201, account+"/workspace_roles/", fmt.Sprintf(`{"name": "%s-role"}`, name))
	create(201, account+"/teams", fmt.Sprintf(`{"name": "%s-team", "description": "%s"}`, name, name))
	create(201, account+"/workspaces/", fmt.Sprintf(`{"name": "%s-second"}`, name))
	create(201, account+"/account_memberships/", fmt.Sprintf(`{"email": "%s-member@example.com"}`, name))
	create(201, "/users/"+at.user+"/api_keys", fmt.Sprintf(`{"name": "%s-key"}`, name))
	return ids
}

// volatile is what changes by itself as time goes by.
var volatile = regexp.MustCompile(`"(estimated_[a-z_]*|total_run_time|.*timestamp)":[^,}]*`)

// unplanted leaves out what the caller may have written: names that a path can give.
func unplanted(body string) string {
	for _, name := range []string{mark + "-flow", mark + "_variable", mark + "-limit", mark + "-artifact"} {
		body = strings.ReplaceAll(body, `"`+name+`"`, "")
	}
	return body
}

// view is everything that a tenant sees of what is theirs.
func (h *hosted) view(tenant tenant) map[string]string {
	out := map[string]string{}
	for _, r := range routes() {
		path := r.fill(tenant.account, "")
		if strings.Contains(strings.ReplaceAll(r.path, "{account_id}", ""), "{") || strings.Contains(path, "event") || strings.Contains(path, "/ui/") {
			continue
		}
		if r.method == "GET" && !strings.Contains(path, "csrf") || strings.HasSuffix(path, "/filter") {
			if !strings.HasPrefix(path, "/accounts/") && !strings.HasPrefix(path, "/me") {
				path = tenant.workspacePath() + path
			}
			got := h.do(tenant.key, r.method, path, map[bool]string{true: "{}"}[r.method == "POST"])
			out[r.method+" "+path] = fmt.Sprint(got.status, volatile.ReplaceAllString(got.body, ""))
		}
	}
	return out
}

// TestTenantsSeeNothingOfEachOther lets one tenant call everything with the other's ids in all places: no answer holds a
// byte of the other's, and nothing of the other's changes.
func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	alpha, beta := h.tenant(mark), h.tenant("beta")
	foreign, own := h.furnish(alpha, mark), h.furnish(beta, "beta")
	foreign = append(foreign, alpha.user, alpha.account, alpha.workspace)
	require.Greater(t, len(foreign), 15)
	var before map[string]string
	require.Eventually(t, func() bool { // The replicated data has arrived.
		before = h.view(alpha)
		return fmt.Sprint(before) == fmt.Sprint(h.view(alpha)) && strings.Count(fmt.Sprint(before), mark) > 20
	}, 10*time.Second, 50*time.Millisecond)

	all := routes()
	prefixes := []string{
		"", beta.workspacePath(), beta.workspacePath(), beta.workspacePath(), alpha.workspacePath(), workspacePath,
		beta.accountPath() + "/workspaces/" + alpha.workspace, alpha.accountPath() + "/workspaces/" + beta.workspace,
	}
	accounts := []string{beta.account, beta.account, beta.account, alpha.account}
	calls, answered := 0, map[int]int{}
	planted := "" // Texts that the caller wrote itself, and so may read: documents can be made under any id, and refer to any.
	rapid.Check(t, func(t *rapid.T) {
		// Credentials of tenants stay: the test would only see refusals.
		ids := slices.Concat(foreign, own, []string{mark + "-flow", mark + "_variable", mark + "-limit", mark + "-artifact", "%2e%2e"})
		id := rapid.SampledFrom(ids)
		for range 40 {
			r := rapid.SampledFrom(all).Draw(t, "route")
			if r.option.GetPublic() || strings.Contains(r.path, "/me") {
				continue
			}
			path := variable.ReplaceAllStringFunc(r.path, func(name string) string {
				if name == "{account_id}" {
					return rapid.SampledFrom(accounts).Draw(t, "account")
				}
				return id.Draw(t, "id")
			})
			if !strings.HasPrefix(path, "/accounts/") && !strings.HasPrefix(path, "/users/") {
				path = rapid.SampledFrom(prefixes).Draw(t, "prefix") + path
			}
			a, b := id.Draw(t, "a"), id.Draw(t, "b")
			body := rapid.SampledFrom([]string{
				"", "{}", "[]", `{"limit": 200}`, `{"name": "beta"}`, `{"enabled": true}`,
				fmt.Sprintf(`{"flows": {"id": {"any_": [%q, %q]}}}`, a, b),
				fmt.Sprintf(`{"flow_runs": {"id": {"any_": [%q]}}, "task_runs": {"id": {"any_": [%q]}}}`, a, b),
				fmt.Sprintf(`{"flow_runs": {"flow_id": {"any_": [%q]}}, "deployments": {"id": {"any_": [%q]}}}`, a, b),
				fmt.Sprintf(`{"workspaces": {"id": {"any_": [%q]}}, "service_accounts": {"id": {"any_": [%q]}}}`, a, b),
				fmt.Sprintf(`{"name": "beta-new", "flow_id": %q, "state": {"type": "PENDING"}, "parent_task_run_id": %q}`, a, b),
				fmt.Sprintf(`{"name": "beta-hook", "template": "{}", "service_account_id": %q}`, a),
				fmt.Sprintf(`[{"workspace_role_id": %q, "bot_id": %q}]`, access.WorkspaceOwner, a),
				fmt.Sprintf(`[{"workspace_role_id": %q, "user_id": %q}]`, a, b),
				fmt.Sprintf(`{"default_workspace_role_id": %q}`, a),
				fmt.Sprintf(`{"state": {"type": "CANCELLED"}, "force": true, "ids": [%q]}`, a),
				fmt.Sprintf(`{"names": ["%s-limit"], "slots": 1}`, mark),
				fmt.Sprintf(`{"event": {"prefix": ["%s"]}, "filter": {"event": {"name": ["%s"]}}}`, "a", "b"),
				fmt.Sprintf(`{"old_key_expires_in_seconds": 0}`),
			}).Draw(t, "body")
			if r.method == "DELETE" && path == beta.accountPath() {
				continue
			}
			if (path == "/users/"+beta.user || strings.HasPrefix(path, "/users/"+beta.user)) && r.method != "GET" {
				continue
			}
			got := h.do(beta.key, r.method, path, body)
			calls++
			answered[got.status]++
			asked := path + body
			if got.status < 300 && r.method != "GET" && !strings.HasSuffix(path, "/filter") {
				planted += asked
			}
			for _, secret := range foreign {
				if strings.Contains(got.body, secret) && !strings.Contains(asked, secret) && !strings.Contains(planted, secret) {
					t.Fatalf("%s %s %s: %d shows the id %s: %s", r.method, path, body, got.status, secret, got.body)
				}
			}
			if strings.Contains(unplanted(got.body), mark) && !strings.Contains(asked, mark) {
				t.Fatalf("%s %s %s: %d shows a name: %s", r.method, path, body, got.status, got.body)
			}
			if got.status >= 500 && got.status != 501 && got.status != 503 {
				t.Fatalf("%s %s %s: %d %s", r.method, path, body, got.status, got.body)
			}
		}
	})
	t.Logf("%d calls: %v", calls, answered)
	require.Greater(t, answered[200], calls/50, "the calls ask what is answered")
	after := h.view(alpha)
	for path, want := range before {
		require.Equal(t, want, after[path], path)
	}
	require.Equal(t, 200, h.do(beta.key, "GET", "/me/", "").status, "the caller could still get in")
}

// TestIDsThatClientsChoose lists the documents whose ids come from clients. They would collide with ids of other workspaces, so a new one
// must be unique in its workspace alone, or else the threat model says what a collision tells.
func TestIDsThatClientsChoose(t *testing.T) {
	t.Parallel()
	chosen := map[protoreflect.FullName]bool{}
	for _, sd := range openapi.Services() {
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
			body := md.Input().Fields().ByName(protoreflect.Name(rule.GetBody()))
			if rule.GetPost() == "" || body == nil || body.Message() == nil || access.ReadOnly(access.Option(md).GetScope()) {
				continue
			}
			if id := body.Message().Fields().ByName("id"); id != nil && id.Kind() == protoreflect.StringKind {
				chosen[body.Message().FullName()] = true
			}
		}
	}
	require.Equal(t, map[protoreflect.FullName]bool{"orch.v1.TaskRunCreate": true, "orch.v1.Event": true}, chosen)
}
