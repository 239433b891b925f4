package orchestration_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// counted brings counts of requests as the hooks service does, each twice, because the broker delivers at least once.
func (d *domain) counted(w *orchv1.Webhook, source string, sequence, requests, failures int64, last time.Time) {
	d.t.Helper()
	journal, err := deliverylog.Open(d.t.Context(), d.broker)
	require.NoError(d.t, err)
	entry, err := proto.Marshal(&orchv1.WebhookDeliveryBatch{Traffic: []*orchv1.WebhookTraffic{{
		WebhookId: w.GetId(), Workspace: request.DefaultWorkspace.String(), Name: w.GetName(), Last: timestamppb.New(last),
		Source: &orchv1.WebhookTrafficSource{Id: source, Sequence: sequence}, Requests: requests, Failures: failures,
		Reason: proto.String("signature"), Error: proto.String("request is not authenticated"),
	}}})
	require.NoError(d.t, err)
	for range 2 {
		require.NoError(d.t, journal.Append(d.t.Context(), entry))
	}
}

func (d *domain) health(w *orchv1.Webhook) *orchv1.WebhookHealth {
	d.t.Helper()
	return call[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: w.GetId()}).GetHealth()
}

func (d *domain) untilHealth(w *orchv1.Webhook, want orchv1.WebhookHealthStatus) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return d.health(w).GetStatus() == want }, time.Minute, 10*time.Millisecond, want.String())
}

// TestAFailingWebhookIsReported once, with an event on which an automation acts, and so is its recovery.
func TestAFailingWebhookIsReported(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) {
		c.WebhookHealth = orchestration.WebhookHealth{Window: time.Second, Count: 3, Percent: 50}
		c.Timers.WebhookWatcher = 10 * time.Millisecond
	})
	d.automation(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["orch-cloud.webhook.failing"],
		"match":{"orch.resource.id":"orch-cloud.webhook.*"}},"actions":[{"type":"do-nothing"}]}`)
	w := d.webhook("pushes")
	require.Equal(t, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_UNKNOWN, d.health(w).GetStatus())
	now := time.Now()
	one, other := uuid.NewString(), uuid.NewString()
	d.counted(w, one, 1, 3, 0, now)
	d.untilHealth(w, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_HEALTHY)
	d.counted(w, one, 2, 2, 2, now)
	d.counted(w, other, 1, 4, 4, now)
	d.untilHealth(w, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING)
	failing := d.eventually("orch-cloud.webhook.failing", 1)
	require.Equal(t, "orch-cloud.webhook."+w.GetId(), failing[0].GetResource().GetLabels()["orch.resource.id"])
	require.Equal(t, "pushes", failing[0].GetResource().GetLabels()["orch.resource.name"])
	require.Contains(t, string(failing[0].GetPayload()), `"reason":"signature"`)
	d.eventually("orch.automation.triggered", 1)

	later := now.Add(2 * time.Second)
	d.counted(w, one, 3, 5, 0, later)
	d.counted(w, one, 4, 1, 0, later.Add(2*time.Second))
	d.untilHealth(w, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_HEALTHY)
	require.Len(t, d.eventually("orch-cloud.webhook.recovered", 1), 1)
	require.Len(t, d.eventually("orch-cloud.webhook.failing", 1), 1)
	require.Len(t, d.eventually("orch.automation.triggered", 1), 1)
	listed := call[*orchv1.WebhookList](d, orchv1.WebhookService_ListWebhooks_FullMethodName, &orchv1.ListWebhooksRequest{}).GetWebhooks()
	require.NotNil(t, listed[0].GetHealth().GetLastDelivery())

	call[proto.Message](d, orchv1.WebhookService_DeleteWebhook_FullMethodName, &orchv1.DeleteWebhookRequest{Id: w.GetId()})
	d.counted(w, one, 5, 5, 5, later)
	d.deliver(d.eventWebhook(), failed("{}")) // The journal is read in order.
	require.Zero(t, d.count("webhook_watch", "_id", w.GetId()), "a deleted webhook is not watched")
}

// TestASilentWebhookIsReported, also one that never received anything, and not while it is disabled.
func TestASilentWebhookIsReported(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.Timers.WebhookWatcher = 10 * time.Millisecond })
	w := d.webhook("nightly")
	silence := int64(1)
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{MaxSilence: &silence}, "max_silence"))
	d.untilHealth(w, orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT)
	require.Contains(t, string(d.eventually("orch-cloud.webhook.failing", 1)[0].GetPayload()), `"cause":"silence"`)
	d.counted(w, uuid.NewString(), 1, 1, 0, time.Now())
	d.eventually("orch-cloud.webhook.recovered", 1)
	disabled := d.webhook("disabled")
	require.NoError(t, d.patchWebhook(disabled.GetId(), &orchv1.WebhookUpdate{MaxSilence: &silence, Enabled: false}, "max_silence", "enabled"))
	require.Zero(t, d.count("webhook_watch", "_id", disabled.GetId()))
}

// TestIssuesGroupFailuresByCause, the latest first, with the counts of refusals that have no entry.
func TestIssuesGroupFailuresByCause(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.eventWebhook()
	start := time.Now().Add(-time.Minute)
	entry := func(status, count int64, reason, text string, after time.Duration) *orchv1.WebhookDelivery {
		one := failed("{}")
		one.Status, one.Count, one.Reason, one.Error, one.Received = status, count, &reason, &text, timestamppb.New(start.Add(after))
		one.RemoteAddress = proto.String("192.0.2.7")
		return one
	}
	good := failed("{}")
	good.Status, good.Reason, good.Error, good.ErrorLine = 204, nil, nil, nil
	last := entry(401, 7, "signature", "not authenticated", 3*time.Second)
	d.deliver(w, entry(401, 1, "signature", "not authenticated", 0), good, entry(400, 1, "event", "broken", time.Second),
		entry(400, 1, "event", "another", 2*time.Second), last)
	got := call[*orchv1.WebhookIssueList](d, orchv1.WebhookService_ListWebhookIssues_FullMethodName, &orchv1.ListWebhookIssuesRequest{Id: w.GetId()}).GetIssues()
	require.Len(t, got, 3)
	require.EqualValues(t, 8, got[0].GetCount())
	require.Equal(t, "signature", got[0].GetReason())
	require.Equal(t, last.GetId(), got[0].GetDeliveryId())
	require.WithinDuration(t, start, got[0].GetFirst().AsTime(), time.Millisecond)
	require.Equal(t, []string{"another", "broken"}, []string{got[1].GetError(), got[2].GetError()})

	filtered := func(f *orchv1.WebhookDeliveryFilter) int {
		return len(d.deliveries(w, &orchv1.WebhookDeliveryQuery{Deliveries: f}))
	}
	texts := func(values ...string) *orchv1.WebhookDeliveryTextFilter {
		return &orchv1.WebhookDeliveryTextFilter{Any_: &orchv1.StringList{Values: values}}
	}
	require.Equal(t, 2, filtered(&orchv1.WebhookDeliveryFilter{Reason: texts("signature")}))
	require.Equal(t, 4, filtered(&orchv1.WebhookDeliveryFilter{Reason: texts("signature", "event")}))
	require.Equal(t, 4, filtered(&orchv1.WebhookDeliveryFilter{RemoteAddress: texts("192.0.2.7")}))
	require.Zero(t, filtered(&orchv1.WebhookDeliveryFilter{RemoteAddress: texts("192.0.2.8")}))
}
