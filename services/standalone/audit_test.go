package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

type auditPage struct {
	Events []struct {
		Event    string              `json:"event"`
		Occurred time.Time           `json:"occurred"`
		Resource map[string]string   `json:"resource"`
		Related  []map[string]string `json:"related"`
	} `json:"events"`
	Total    int     `json:"total"`
	NextPage *string `json:"next_page"`
}

func (p auditPage) names() []string {
	var names []string
	for _, e := range p.Events {
		names = append(names, e.Event)
	}
	return names
}

// audit reads events of an account.
func (h *hosted) audit(key, account, query string) auditPage {
	h.t.Helper()
	got := h.do(key, "POST", account+"/events/filter", query)
	require.Equal(h.t, 200, got.status, got.body)
	var page auditPage
	require.NoError(h.t, json.Unmarshal([]byte(got.body), &page))
	return page
}

// TestAuditEventsAreRead by name, actor, resource and time, page by page, by those who may.
func TestAuditEventsAreRead(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	other := h.tenant("other")
	viewer := h.member("viewer", access.WorkspaceViewer)
	start := time.Now()
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", fmt.Sprintf(`{"name": "ci", "account_role_id": %q}`, access.AccountAdmin))
	h.must(at(bot, "api_key", "key"), 201, "POST", accountPath+"/teams", `{"name": "data"}`)
	h.must(h.owner, 204, "PATCH", accountPath+"/bots/"+at(bot, "id"), `{"name": "ci2"}`)
	h.must(h.owner, 204, "DELETE", accountPath+"/bots/"+at(bot, "id"), "")

	const ofBots = `{"filter": {"event": {"prefix": ["orch-cloud.service-account."]}}}`
	require.Eventually(t, func() bool { return h.audit(h.owner, accountPath, ofBots).Total == 3 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"orch-cloud.service-account.deleted", "orch-cloud.service-account.updated", "orch-cloud.service-account.created"},
		h.audit(h.owner, accountPath, ofBots).names(), "the newest first")
	require.Equal(t, []string{"orch-cloud.team.created"}, h.audit(h.owner, accountPath,
		fmt.Sprintf(`{"filter": {"related": {"resources_in_roles": [["orch-cloud.service-account.%s", "actor"]]}}}`, at(bot, "id"))).names(), "by the actor")
	require.Equal(t, 3, h.audit(h.owner, accountPath,
		fmt.Sprintf(`{"filter": {"resource": {"id": ["orch-cloud.service-account.%s"]}}}`, at(bot, "id"))).Total, "by the resource")
	before := h.audit(h.owner, accountPath, fmt.Sprintf(`{"filter": {"occurred": {"until": %q}}}`, start.UTC().Format(time.RFC3339Nano)))
	for _, e := range before.Events {
		require.True(t, e.Occurred.Before(start), "%s: by the time", e.Event)
	}
	require.NotContains(t, strings.Join(before.names(), " "), "team.created")

	page := h.audit(h.owner, accountPath, `{"limit": 2, "filter": {"event": {"prefix": ["orch-cloud.service-account."]}}}`)
	require.Len(t, page.Events, 2)
	require.NotNil(t, page.NextPage)
	require.True(t, strings.HasPrefix(*page.NextPage, h.root+accountPath+"/events/filter/next?page-token="), *page.NextPage)
	next := strings.TrimPrefix(*page.NextPage, h.root)
	got := h.do(h.owner, "GET", next, "")
	require.Equal(t, 200, got.status, got.body)
	page = auditPage{}
	require.NoError(t, json.Unmarshal([]byte(got.body), &page))
	require.Equal(t, []string{"orch-cloud.service-account.created"}, page.names())
	require.Nil(t, page.NextPage)

	require.Equal(t, 403, h.do(viewer, "POST", accountPath+"/events/filter", "").status)
	require.Equal(t, 404, h.do(other.key, "POST", accountPath+"/events/filter", "").status)
	require.Equal(t, 404, h.do(other.key, "GET", next, "").status)
	u, err := url.Parse(next)
	require.NoError(t, err)
	got = h.do(other.key, "GET", other.accountPath()+"/events/filter/next?"+u.RawQuery, "")
	require.Equal(t, 200, got.status, "a token is a filter like any other")
	require.NotContains(t, got.body, at(bot, "id"))
	require.NotContains(t, h.do(h.owner, "POST", "/events/filter", "").body, "service-account.created", "no workspace sees what is the account's")
	require.Equal(t, 0, h.audit(other.key, other.accountPath(), ofBots).Total)
}

// TestAClientForgesNoAuditEvent: clients and templates can neither name an event as the server's audit does, nor attribute one
// to what an account owns. Reports of clients about their work still pass.
func TestAClientForgesNoAuditEvent(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"orch", "prefect"} {
		t.Run(own, func(t *testing.T) {
			t.Parallel()
			h := startHosted(t, own)
			worker := h.member("worker", access.WorkspaceWorker)
			type sent struct{ name, resource, related string }
			text := func(e sent) string {
				related := "[]"
				if e.related != "" {
					related = fmt.Sprintf(`[{"%s.resource.id": %q, "%s.resource.role": "actor"}]`, own, e.related, own)
				}
				return fmt.Sprintf(`{"id": %q, "occurred": %q, "event": %q, "resource": {"%s.resource.id": %q}, "related": %s}`,
					uuid.NewString(), time.Now().UTC().Format(time.RFC3339Nano), e.name, own, e.resource, related)
			}
			var forged []sent
			for _, prefix := range []string{"orch-cloud.", "prefect-cloud.", "Orch-Cloud.", " prefect-cloud."} {
				forged = append(forged, sent{prefix + "workspace-access.created", "r", ""}, sent{"e", prefix + "workspace-access.1", ""}, sent{"e", "r", prefix + "user.1"})
			}
			for _, e := range forged {
				got := h.do(worker, "POST", "/events", "["+text(e)+"]")
				require.Equal(t, 422, got.status, "%v: %s", e, got.body)
				require.Contains(t, got.body, own+"-cloud.", e)
			}
			for _, e := range []sent{
				{own + ".flow-run.heartbeat", own + ".flow-run." + uuid.NewString(), own + ".flow." + uuid.NewString()},
				{own + ".worker.started", own + ".worker.process.w", own + ".work-pool." + uuid.NewString()},
				{own + ".concurrency-limit.acquired", own + ".concurrency-limit." + uuid.NewString(), ""},
				{own + ".asset.materialization.succeeded", "s3://bucket/key", ""},
				{"shop.order.placed", "shop.order.1", ""},
			} {
				require.Equal(t, 204, h.do(worker, "POST", "/events", "["+text(e)+"]").status, e)
			}

			templated := func(name, event string) int {
				template, err := json.Marshal(event)
				require.NoError(t, err)
				made := h.must(h.owner, 201, "POST", "/webhooks/", fmt.Sprintf(`{"name": %q, "template": %s}`, name, template))
				return h.send("POST", at(made, "url"), `{"user": "`+own+`-cloud.user.1"}`).status
			}
			for i, e := range append(forged, sent{own + ".flow-run.Completed", "r", ""}, sent{own + ".task-run.Failed", "r", ""}) {
				require.Equal(t, 400, templated(fmt.Sprint("forged-", i), text(e)), e)
			}
			require.Equal(t, 400, templated("from-the-body", text(sent{"e", "r", "{{ body.user }}"})))
			require.Equal(t, 204, templated("good", text(sent{"shop.order.placed", own + ".flow-run." + uuid.NewString(), "shop.customer.1"})))
			const created = `{"filter": {"event": {"prefix": ["orch-cloud.workspace-access.created", "prefect-cloud.workspace-access.created"]}}}`
			require.NotContains(t, h.do(h.owner, "POST", "/events/filter", created).body, `"r"`)
		})
	}
}
