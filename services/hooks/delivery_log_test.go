package hooks_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// journal collects the entries of the delivery log.
func (w *world) journal() func() []*orchv1.WebhookDelivery {
	w.t.Helper()
	j, err := deliverylog.Open(w.t.Context(), w.conn)
	require.NoError(w.t, err)
	var mu sync.Mutex
	var all []*orchv1.WebhookDelivery
	w.start(func(ctx context.Context) error {
		return j.Consume(ctx, func(_ context.Context, entries [][]byte) error {
			mu.Lock()
			defer mu.Unlock()
			for _, entry := range entries {
				batch := &orchv1.WebhookDeliveryBatch{}
				if err := proto.Unmarshal(entry, batch); err != nil {
					return err
				}
				all = append(all, batch.GetDeliveries()...)
			}
			return nil
		})
	})
	return func() []*orchv1.WebhookDelivery {
		mu.Lock()
		defer mu.Unlock()
		return append([]*orchv1.WebhookDelivery(nil), all...)
	}
}

// logged waits for the one delivery that a test looks for.
func logged(t *testing.T, log func() []*orchv1.WebhookDelivery, is func(*orchv1.WebhookDelivery) bool) *orchv1.WebhookDelivery {
	t.Helper()
	var found *orchv1.WebhookDelivery
	require.Eventually(t, func() bool {
		for _, d := range log() {
			if is(d) {
				found = d
			}
		}
		return found != nil
	}, waitTime, tick)
	return found
}

func TestTheDeliveryLog(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	log := w.journal()
	status := func(code int64) func(*orchv1.WebhookDelivery) bool {
		return func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == code }
	}
	w.put(slug, &orchv1.WebhookDefinition{Template: "{\"event\": \"{{ body.name }}\",\n \"resource\": {\"orch.resource.id\": \"r\"}}"})
	secret := []string{"Cookie", "topsecret-1", "Authorization", "topsecret-2", "X-Gitlab-Token", "topsecret-3", "Referer", "/hooks/" + slug, "X-Plain", "seen"}
	got := w.do("POST", slug+"?token=topsecret-4&id=7", `{"name": "good"}`, secret...)
	require.Equal(t, http.StatusNoContent, got.status)
	event := w.next()
	d := logged(t, log, status(http.StatusNoContent))
	require.Equal(t, event.GetId(), d.GetEventId())
	require.Equal(t, "good", d.GetEvent())
	require.Equal(t, hookID, d.GetWebhookId())
	require.Equal(t, workspace, d.GetWorkspace())
	require.EqualValues(t, 16, d.GetSize())
	require.Positive(t, d.GetLatency())
	require.Equal(t, `{"name": "good"}`, string(d.GetRawBody()))
	require.Equal(t, "token=***&id=7", d.GetQuery())
	require.Equal(t, "seen", d.GetHeaders()["x-plain"])
	require.Equal(t, "***", d.GetHeaders()["cookie"])
	require.Equal(t, "127.0.0.1", d.GetRemoteAddress())
	require.Nil(t, d.Error)
	text, err := proto.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(text), "topsecret")
	require.NotContains(t, string(text), slug)

	require.Equal(t, http.StatusBadRequest, w.do("POST", slug, `{"name": "a\nb"}`).status)
	d = logged(t, log, status(http.StatusBadRequest))
	require.Contains(t, d.GetError(), "a control character stands in a string")
	require.EqualValues(t, 1, d.GetErrorLine())
	require.Contains(t, d.GetRendered(), "a\nb")
	require.Nil(t, d.EventId)

	require.Equal(t, http.StatusRequestEntityTooLarge, w.do("POST", slug, strings.Repeat("x", 6<<20)).status)
	d = logged(t, log, status(http.StatusRequestEntityTooLarge))
	require.True(t, d.GetBodyTruncated())
	require.LessOrEqual(t, len(d.GetRawBody()), 256<<10)

	require.Equal(t, http.StatusOK, w.do("POST", slug, validation, "Aeg-Event-Type", "SubscriptionValidation").status)
	require.Equal(t, "event-grid", logged(t, log, status(http.StatusOK)).GetHandshake())

	w.put("signed", signed(t, ring, static))
	for range 5 {
		require.Equal(t, http.StatusUnauthorized, w.do("POST", "signed", "what a stranger says").status)
	}
	d = logged(t, log, status(http.StatusUnauthorized))
	require.Empty(t, d.GetRawBody(), "strangers fill nothing")
	for range 2 {
		require.Equal(t, http.StatusNoContent, w.do("POST", "signed", "{}", "X-Hub-Signature-256", signature(signing, "{}"), "X-GitHub-Delivery", "d").status)
	}
	d = logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetDuplicate() })
	require.NotNil(t, d.EventId)
	require.Equal(t, d.GetEventId(), d.GetDeduplicationId())
	strangers := 0
	for _, d := range log() {
		if d.GetStatus() == http.StatusUnauthorized {
			strangers++
			require.Equal(t, "signature", d.GetReason())
		}
	}
	require.Equal(t, 5, strangers, "each has a row")
	require.Regexp(t, `"orch_hooks_refusals_total".*?"value":"signature"}],"counter":{"value":5,`, w.measured())
	w.do("POST", "unknown", "{}")
	w.do("TRACE", slug, "")
}

// TestTheLogHoldsNothingUp floods a webhook: of what comes at once the log has the last ones, and failures first.
func TestTheLogHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.journal()
	w.put(slug, &orchv1.WebhookDefinition{Template: `{% if body.bad %}{% else %}{"event": "e", "resource": {"orch.resource.id": "r"}}{% endif %}`})
	require.Equal(t, http.StatusBadRequest, w.do("POST", slug, `{"bad": true}`).status)
	w.next()
	for range 200 {
		require.Equal(t, http.StatusNoContent, w.do("POST", slug, `{"good": true}`).status)
		w.next()
	}
	logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == http.StatusBadRequest })
	logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == http.StatusNoContent })
	require.Contains(t, w.measured(), "orch_hooks_unlogged_deliveries_total")
}
