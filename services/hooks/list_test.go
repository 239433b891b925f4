package hooks_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fanOut makes an event of each commit, with a payload of so many bytes.
const fanOut = `[{% for c in body.commits %}{"event": "commit.{{ c }}", "resource": {"orch.resource.id": "r"},
	"payload": {"text": "{{ "x" * body.size }}"}}{{ "," if not loop.last }}{% endfor %}]`

func commits(n, size int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%d", i)
	}
	return fmt.Sprintf(`{"commits": [%s], "size": %d}`, strings.Join(ids, ","), size)
}

// TestOneRequestBecomesSeveralEvents, all or none, each with an id of its own, which is the same in duplicates of the delivery.
func TestOneRequestBecomesSeveralEvents(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	log := w.journal()
	w.put(slug, signed(t, ring, fanOut))
	w.settle(fanOut)
	send := func(body string) int {
		return w.do("POST", slug, body, "X-Hub-Signature-256", signature(signing, body)).status
	}
	require.Equal(t, http.StatusNoContent, send(commits(100, 1)))
	ids := map[string]bool{}
	var first string
	for i := range 100 {
		e := w.next()
		require.Equal(t, fmt.Sprintf("commit.%d", i), e.GetEvent(), "in the order of the list")
		if i == 0 {
			first = e.GetId()
		}
		ids[e.GetId()] = true
	}
	require.Len(t, ids, 100)
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return len(d.GetEventIds()) > 0 })
	require.Len(t, d.GetEventIds(), 100)
	require.Equal(t, first, d.GetEventId())
	require.Equal(t, first, d.GetEventIds()[0])
	require.Equal(t, "commit.0", d.GetEvent())
	require.Equal(t, first, d.GetDeduplicationId())

	require.Equal(t, http.StatusNoContent, send(commits(100, 1)), "a duplicate")
	require.Equal(t, http.StatusNoContent, send(commits(0, 1)), "an empty list")
	w.none()
	d = logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetReason() == "filtered" })
	require.EqualValues(t, http.StatusNoContent, d.GetStatus())

	for body, want := range map[string]string{
		commits(101, 1):     "a list of 101 events, and at most 100 are taken",
		commits(10_000, 1):  "a list of 10000 events, and at most 100 are taken",
		commits(100, 20000): "together at most 1500000 are taken",
	} {
		require.Equal(t, http.StatusBadRequest, send(body))
		failure := w.next()
		require.Equal(t, "orch-cloud.webhook.failed", failure.GetEvent(), "none of the events is stored")
		require.Contains(t, payload(t, failure)["error"], want)
	}
	require.Equal(t, http.StatusNoContent, send(commits(50, 25000)), "as large as one event, and in one frame")
	for range 50 {
		require.Contains(t, w.next().GetEvent(), "commit.")
	}
	w.none()
}
