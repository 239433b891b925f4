package render

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// push is a typical template for GitHub, and pushed is GitHub's request, 1 KiB of it.
const push = `{
    "event": "github.push",
    "resource": {"orch.resource.id": "github.repository.{{ body.repository.full_name }}", "orch.resource.name": "{{ body.repository.name }}"},
    "related": [{% for c in body.commits %}{"orch.resource.id": "github.commit.{{ c.id }}", "orch.resource.role": "commit"}{% if not loop.last %},{% endif %}{% endfor %}],
    "payload": {"message": {{ body.head_commit.message|tojson }}, "branch": {{ body.ref.split('/')[-1]|tojson }}, "pusher": {{ body.pusher|tojson }}}
}`

var pushed = `{"ref":"refs/heads/main","before":"6113728f27ae82c7b1a177c8d03f9e96e0adf246","after":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c",` +
	`"repository":{"id":35129377,"name":"public-repo","full_name":"baxterthehacker/public-repo","private":false},"pusher":{"name":"baxterthehacker",` +
	`"email":"baxterthehacker@users.noreply.github.com"},"commits":[{"id":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c","distinct":true}],` +
	`"head_commit":{"id":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c","timestamp":"2026-05-05T19:40:15-04:00","message":"` + strings.Repeat("x", 400) + `"}}`

// BenchmarkEvent measures one request, from its bytes to the broker's event.
func BenchmarkEvent(b *testing.B) {
	e := New(Options{})
	hook := &orchv1.WebhookDefinition{Id: uuid.NewString(), Name: "github", Template: push}
	var memory EventMemory
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/hooks/slug", strings.NewReader(pushed))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "X-Github-Event": {"push"}, "X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"},
			"X-Hub-Signature-256": {"sha256=d57c68ca6f92289e6987922ff26938930f6e66a2d161ef06abdf1859230aa23c"}, "User-Agent": {"GitHub-Hookshot/044aadd"},
		}
		request := receive.New(r, "slug", "", time.Now())
		require.NoError(b, request.ReadBody(r, 5<<20, nil))
		body := request.Body()
		text, err := e.Render(b.Context(), hook.GetTemplate(), NewVariables(request, body))
		require.NoError(b, err)
		list, err := e.EventsIn(&memory, text, hook, request, body, uuid.Nil)
		require.NoError(b, err)
		_, err = events.ToBroker(vocabulary.Orch, list[0], uuid.Max)
		require.NoError(b, err)
		require.True(b, memory.Clear())
	}
}
