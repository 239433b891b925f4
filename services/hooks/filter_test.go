package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestAFilterDropsRequests without an event and without a failure. The log and the metrics have them.
func TestAFilterDropsRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.journal()
	const template = `{"event": "{{ body.action }}", "resource": {"orch.resource.id": "r"}}`
	w.put(slug, &orchv1.WebhookDefinition{Template: template, Filter: proto.String(`body.action in ["opened", "closed"]`)})
	w.settle(template)
	require.Equal(t, http.StatusNoContent, w.do("POST", slug, `{"action": "opened"}`).status)
	require.Equal(t, "opened", w.next().GetEvent())
	for _, body := range []string{`{"action": "labeled"}`, `{"zen": "Keep it simple."}`, ``, `text`} {
		got := w.do("POST", slug, body)
		require.Equal(t, http.StatusNoContent, got.status, body)
		require.Empty(t, got.body)
	}
	w.none()
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return string(d.GetRawBody()) == `{"action": "labeled"}` })
	require.Equal(t, "filtered", d.GetReason())
	require.EqualValues(t, http.StatusNoContent, d.GetStatus())
	require.Nil(t, d.Error)
	require.Nil(t, d.EventId)
	require.Nil(t, d.Event)
	require.Regexp(t, `"orch_hooks_filtered_total".*?"counter":{"value":4`, w.measured())
}

// TestTheOwnerChoosesWhatAFailingFilterDoes, by the clock or by its budget.
func TestTheOwnerChoosesWhatAFailingFilterDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.journal()
	for name, c := range map[string]struct {
		filter string
		line   int64
		want   string
	}{
		"type":   {"body.n\n> 'x'", 1, "TypeError"},
		"syntax": {"true and\n)", 2, "syntax error"}, // Stored by a newer server.
		"budget": {"range(100000) | map('string') | map('length') | sum and range(99999) | map('string') | map('length') | map('string') | map('length') | map('string') | map('length') | map('string') | map('length') | map('string') | map('length') | sum", 1, "budget"},
		"memory": {"true and\n 'x' * 1000000000", 2, "budget"},
	} {
		t.Run(name, func(t *testing.T) {
			w.put(slug, &orchv1.WebhookDefinition{Template: static, Filter: &c.filter})
			w.settle(static)
			require.Equal(t, http.StatusBadRequest, w.do("POST", slug, `{"n": 1}`, "X-Case", name).status)
			failure := w.next()
			require.Equal(t, "orch-cloud.webhook.failed", failure.GetEvent())
			require.Contains(t, payload(t, failure)["error"], "filter, line ")
			is := func(status int64) func(*orchv1.WebhookDelivery) bool {
				return func(d *orchv1.WebhookDelivery) bool {
					return d.GetStatus() == status && d.GetHeaders()["x-case"] == name
				}
			}
			d := logged(t, log, is(http.StatusBadRequest))
			require.Equal(t, "filter", d.GetReason())
			require.Equal(t, c.line, d.GetErrorLine())
			require.Contains(t, d.GetError(), c.want)

			w.put(slug, &orchv1.WebhookDefinition{
				Template: static, Filter: &c.filter, FilterError: orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FILTERED.Enum(),
			})
			w.settle(static)
			require.Equal(t, http.StatusNoContent, w.do("POST", slug, `{"n": 1}`, "X-Case", name).status)
			w.none()
			d = logged(t, log, is(http.StatusNoContent))
			require.Equal(t, "filtered", d.GetReason())
			require.Equal(t, c.line, d.GetErrorLine())
			require.Contains(t, d.GetError(), c.want)
		})
	}
}
