package orchestration_test

import (
	"fmt"
	"net/http"
	"slices"
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

// deliver brings deliveries as the hooks service does, and waits until the last is there.
func (d *domain) deliver(w *orchv1.Webhook, all ...*orchv1.WebhookDelivery) {
	d.t.Helper()
	journal, err := deliverylog.Open(d.t.Context(), d.broker)
	require.NoError(d.t, err)
	batch := &orchv1.WebhookDeliveryBatch{}
	for _, one := range all {
		one.WebhookId, one.Workspace = w.GetId(), request.DefaultWorkspace.String()
		if one.Received == nil {
			one.Received = timestamppb.Now()
		}
		batch.Deliveries = append(batch.Deliveries, one)
	}
	entry, err := proto.Marshal(batch)
	require.NoError(d.t, err)
	require.NoError(d.t, journal.Append(d.t.Context(), []byte("no entry")), "what cannot be read holds nothing up")
	require.NoError(d.t, journal.Append(d.t.Context(), entry))
	last := all[len(all)-1].GetId()
	require.Eventually(d.t, func() bool {
		for _, one := range d.deliveries(w, nil) {
			if one.GetId() == last {
				return true
			}
		}
		return false
	}, 10*time.Second, 10*time.Millisecond)
}

func (d *domain) deliveries(w *orchv1.Webhook, q *orchv1.WebhookDeliveryQuery) []*orchv1.WebhookDelivery {
	d.t.Helper()
	return call[*orchv1.WebhookDeliveryList](d, orchv1.WebhookService_ReadDeliveries_FullMethodName, &orchv1.ReadDeliveriesRequest{Id: w.GetId(), Query: q}).GetDeliveries()
}

func failed(body string) *orchv1.WebhookDelivery {
	return &orchv1.WebhookDelivery{
		Id: uuid.Must(uuid.NewV7()).String(), Status: http.StatusBadRequest, Method: "POST", RawBody: []byte(body), Size: int64(len(body)),
		Headers: map[string]string{"content-type": "application/json", "x.dotted": "a"}, Error: proto.String("broken"), ErrorLine: proto.Int64(3),
		Reason: proto.String(deliverylog.ReasonEvent),
	}
}

// eventWebhook makes an event of a body with a name.
func (d *domain) eventWebhook() *orchv1.Webhook {
	d.t.Helper()
	return call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{Webhook: &orchv1.WebhookCreate{
		Name: "hook", Template: `{"event": "{{ body.name }}", "resource": {"orch.resource.id": "r"}}`, Enabled: true,
	}})
}

func TestDeliveriesAreKeptAndBounded(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.DeliveriesKept = 3 })
	w, other := d.eventWebhook(), d.webhook("other")
	start := time.Now().Add(-time.Minute)
	var all []*orchv1.WebhookDelivery
	for i := range 5 {
		one := failed(fmt.Sprintf(`{"name": "e%d"}`, i))
		one.Received = timestamppb.New(start.Add(time.Duration(i) * time.Second))
		if i == 4 {
			one.Status, one.Error, one.ErrorLine, one.Reason, one.EventId = http.StatusNoContent, nil, nil, nil, proto.String(uuid.NewString())
		}
		all = append(all, one)
	}
	d.deliver(other, failed("{}"))
	d.deliver(w, all...)
	require.Eventually(t, func() bool { return len(d.deliveries(w, nil)) == 3 }, time.Minute, 10*time.Millisecond, "the last ones stay")
	shown := d.deliveries(w, nil)
	for i, one := range shown {
		require.Equal(t, all[4-i].GetId(), one.GetId(), "newest first")
		require.Equal(t, fmt.Sprintf(`{"name": "e%d"}`, 4-i), one.GetBody())
	}
	require.Len(t, d.deliveries(other, nil), 1, "each webhook for itself")

	failure := int64(400)
	require.Len(t, d.deliveries(w, &orchv1.WebhookDeliveryQuery{Deliveries: &orchv1.WebhookDeliveryFilter{Status: &orchv1.WebhookDeliveryStatusFilter{Ge_: &failure}}}), 2)
	require.Len(t, d.deliveries(w, &orchv1.WebhookDeliveryQuery{Limit: &orchv1.PageLimit{Value: 1}, Offset: 1}), 1)

	read := func(w, id string) (*orchv1.WebhookDelivery, error) {
		got, _, err := try[*orchv1.WebhookDelivery](d, orchv1.WebhookService_ReadDelivery_FullMethodName, &orchv1.ReadDeliveryRequest{Id: w, DeliveryId: id})
		return got, err
	}
	one, err := read(w.GetId(), all[3].GetId())
	require.NoError(t, err)
	require.EqualValues(t, 3, one.GetErrorLine())
	require.Equal(t, "a", one.GetHeaders()["x.dotted"])
	for _, c := range [][2]string{{other.GetId(), all[3].GetId()}, {w.GetId(), all[0].GetId()}, {uuid.NewString(), all[3].GetId()}} {
		_, err := read(c[0], c[1])
		code, _ := status(err)
		require.Equal(t, http.StatusNotFound, code)
	}
	_, _, err = tryIn[*orchv1.WebhookDelivery](d, uuid.New(), orchv1.WebhookService_ReadDelivery_FullMethodName, &orchv1.ReadDeliveryRequest{Id: w.GetId(), DeliveryId: all[3].GetId()})
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code, "another workspace")
}

// TestRefusedRequestsDisplaceAFifthOfTheLog: refused requests, newer than all verified ones, leave four fifths of the log to these.
func TestRefusedRequestsDisplaceAFifthOfTheLog(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.DeliveriesKept = 10 })
	w := d.eventWebhook()
	start := time.Now().Add(-time.Minute)
	var verified, refused []*orchv1.WebhookDelivery
	for i := range 20 {
		one := failed("{}")
		one.Received = timestamppb.New(start.Add(time.Duration(i) * time.Second))
		if i < 8 {
			verified = append(verified, one)
			continue
		}
		one.Status, one.Reason, one.Refused = http.StatusUnauthorized, proto.String(deliverylog.ReasonSignature), true
		refused = append(refused, one)
	}
	d.deliver(w, verified...)
	d.deliver(w, refused...)
	var want []string
	for _, one := range slices.Concat(verified, refused[len(refused)-2:]) {
		want = append(want, one.GetId())
	}
	require.Eventually(t, func() bool {
		var ids []string
		for _, one := range d.deliveries(w, nil) {
			ids = append(ids, one.GetId())
		}
		slices.Reverse(ids)
		return slices.Equal(want, ids)
	}, time.Minute, 10*time.Millisecond)
}

func TestReplay(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.eventWebhook()
	good, broken, cut := failed(`{"name": "mended"}`), failed(`{"name": "\n"}`), failed("")
	duplicates := uuid.NewString()
	good.DeduplicationId = &duplicates
	cut.BodyTruncated = true
	refused := failed("{}")
	refused.Status, refused.Reason = http.StatusUnauthorized, proto.String(deliverylog.ReasonSignature)
	// With ORCH_HOOKS_STRICT_QUIET every refusal is a 400.
	method, quiet := failed(`{"name": "forged"}`), failed(`{"name": "forged"}`)
	method.Status, method.Reason = http.StatusMethodNotAllowed, proto.String(deliverylog.ReasonMethod)
	quiet.Reason = proto.String(deliverylog.ReasonCredential)
	d.deliver(w, good, broken, cut, method, quiet, refused)
	d.deliver(w, good, broken, cut, method, quiet, refused) // An entry that comes twice is stored once.

	replay := func(delivery *orchv1.WebhookDelivery) (*orchv1.WebhookDelivery, error) {
		got, _, err := try[*orchv1.WebhookDelivery](d, orchv1.WebhookService_ReplayDelivery_FullMethodName, &orchv1.ReplayDeliveryRequest{Id: w.GetId(), DeliveryId: delivery.GetId()})
		return got, err
	}
	again := func() []*orchv1.WebhookDelivery {
		return call[*orchv1.WebhookDeliveryList](d, orchv1.WebhookService_ReplayDeliveries_FullMethodName, &orchv1.ReplayDeliveriesRequest{Id: w.GetId()}).GetDeliveries()
	}
	all := again()
	require.Len(t, all, 2, "those that failed and can be replayed")
	made, stillBroken := all[0], all[1]
	if made.GetReplayOf() != good.GetId() {
		made, stillBroken = stillBroken, made
	}
	require.EqualValues(t, http.StatusNoContent, made.GetStatus())
	require.Equal(t, "mended", made.GetEvent())
	require.Equal(t, duplicates, made.GetEventId(), "the event of the sender's duplicates")
	require.EqualValues(t, http.StatusBadRequest, stillBroken.GetStatus())
	require.EqualValues(t, 1, stillBroken.GetErrorLine())
	require.Contains(t, stillBroken.GetRendered(), `{"event": "`)
	stored := d.eventNamed("mended")
	require.Equal(t, duplicates, stored.GetId())
	require.WithinDuration(t, good.GetReceived().AsTime(), stored.GetOccurred().AsTime(), time.Millisecond, "it occurred when it came first")
	require.True(t, stored.GetReceived().AsTime().After(good.GetReceived().AsTime()))

	require.Len(t, again(), 1, "what was replayed with success is not replayed again by default")
	second, err := replay(good)
	require.NoError(t, err)
	require.NotEqual(t, duplicates, second.GetEventId(), "who replays once more gets one more event")

	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Template: `{"event": {{ body.name|tojson }}, "resource": {"orch.resource.id": "r"}}`}, "template"))
	third, err := replay(broken)
	require.NoError(t, err)
	require.EqualValues(t, http.StatusNoContent, third.GetStatus(), "after the template was mended: %s", third.GetError())
	require.Empty(t, again())

	late := failed(`{"name": "late"}`)
	d.deliver(w, late)
	first := call[*orchv1.WebhookDeliveryList](d, orchv1.WebhookService_ReplayDeliveries_FullMethodName, &orchv1.ReplayDeliveriesRequest{
		Id: w.GetId(), Query: &orchv1.WebhookReplayQuery{Limit: &orchv1.PageLimit{Value: 1}},
	}).GetDeliveries()
	require.Len(t, first, 1, "replays that failed do not hide a later delivery")
	require.Equal(t, late.GetId(), first[0].GetReplayOf())

	for _, c := range []*orchv1.WebhookDelivery{cut, refused, method, quiet, second} {
		_, err := replay(c)
		code, text := status(err)
		require.Equal(t, http.StatusConflict, code)
		require.NotEmpty(t, text)
	}
}

// The log may hold what was no secret yet when it was written.
func TestReplaysShowNoSecret(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.signedWebhook()
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Template: `{"event": "{{ body.name }}", "resource": {"orch.resource.id": "r"}}`}, "template"))
	good, broken := failed(`{"name": "unveiled"}`), failed(`{"name": "\n"}`)
	for _, one := range []*orchv1.WebhookDelivery{good, broken} {
		one.Headers["x-note"] = "it is " + signingSecret
	}
	broken.RawBody = []byte(`{"name": "\n` + signingSecret + `"}`)
	d.deliver(w, good, broken)
	replays := call[*orchv1.WebhookDeliveryList](d, orchv1.WebhookService_ReplayDeliveries_FullMethodName, &orchv1.ReplayDeliveriesRequest{Id: w.GetId()}).GetDeliveries()
	require.Len(t, replays, 2)
	for _, made := range replays {
		require.NotContains(t, made.GetRendered(), signingSecret)
		require.NotContains(t, made.GetError(), signingSecret)
	}
	require.Contains(t, string(d.eventNamed("unveiled").GetPayload()), `"x-note":"it is ***"`)
}

// eventNamed is the event of a name that is stored.
func (d *domain) eventNamed(name string) *orchv1.ReceivedEvent {
	d.t.Helper()
	var found []*orchv1.ReceivedEvent
	require.Eventually(d.t, func() bool {
		found = d.events(&orchv1.EventFilter{
			Event:    &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{name}}},
			Occurred: &orchv1.EventOccurredFilter{Since: timestamppb.New(time.Now().Add(-time.Hour)), Until: timestamppb.New(time.Now().Add(time.Hour))},
		}).GetEvents()
		return len(found) > 0
	}, 10*time.Second, 10*time.Millisecond)
	require.Len(d.t, found, 1)
	return found[0]
}

func TestRenderWebhook(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	render := func(draft *orchv1.WebhookDraft) *orchv1.WebhookRendering {
		if draft.GetMethod() == "" {
			draft.Method = "POST"
		}
		return call[*orchv1.WebhookRendering](d, orchv1.WebhookService_RenderWebhook_FullMethodName, &orchv1.RenderWebhookRequest{Draft: draft})
	}
	const template = `{"event": "{{ body.name }}", "resource": {"orch.resource.id": "{{ headers['X-Id'] }}{{ headers.authorization }}{{ query.q }}"}}`
	got := render(&orchv1.WebhookDraft{Template: template, Headers: map[string]string{"X-ID": "1", "Authorization": "x"}, Query: "q=2", Body: []byte(`{"name":"n"}`)})
	require.Nil(t, got.GetError())
	require.JSONEq(t, `{"event": "n", "resource": {"orch.resource.id": "12"}}`, got.GetRendered())
	require.Contains(t, string(got.GetEvent()), `"event":"n"`)
	got = render(&orchv1.WebhookDraft{Template: `{{ body }}|{{ method }}`, Body: []byte(`"text \"q\""`)})
	require.Equal(t, `text "q"|POST`, got.GetRendered(), "a text is the body as it is")
	require.Equal(t, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_EVENT, got.GetError().GetStage())
	require.EqualValues(t, 1, got.GetError().GetLine())
	require.Nil(t, got.Event)

	got = render(&orchv1.WebhookDraft{Template: "{\n{{ missing|tojson }}"})
	require.Nil(t, got.Rendered)
	require.EqualValues(t, 2, got.GetError().GetLine())
	require.Equal(t, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_TEMPLATE, got.GetError().GetStage())
	got = render(&orchv1.WebhookDraft{Template: "a\nb {{ c"})
	require.EqualValues(t, 2, got.GetError().GetLine())
	got = render(&orchv1.WebhookDraft{Template: `{{ body }}`, Method: "GET", Body: []byte(`"x"`)})
	require.Empty(t, got.GetRendered())
}

// The summary counts each refused request, whether it has an entry of its own or not.
func TestDeliveriesAreSummarized(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.eventWebhook()
	start := time.Now().Add(-time.Minute)
	entry := func(status int64, reason string, count int64, after time.Duration) *orchv1.WebhookDelivery {
		one := failed("")
		one.Status, one.Count, one.Reason, one.Received = status, count, nil, timestamppb.New(start.Add(after))
		if reason != "" {
			one.Reason = &reason
		}
		return one
	}
	d.deliver(w, entry(204, "", 0, 0), entry(401, "signature", 1, time.Second), entry(401, "signature", 41, 3*time.Second),
		entry(401, "credential", 1, 2*time.Second), entry(204, "", 1, 4*time.Second))
	got := call[*orchv1.WebhookDeliverySummary](d, orchv1.WebhookService_SummarizeDeliveries_FullMethodName, &orchv1.SummarizeDeliveriesRequest{Id: w.GetId()}).GetCounts()
	require.Len(t, got, 3)
	require.Equal(t, []int64{204, 401, 401}, []int64{got[0].GetStatus(), got[1].GetStatus(), got[2].GetStatus()})
	require.Equal(t, []int64{2, 1, 42}, []int64{got[0].GetCount(), got[1].GetCount(), got[2].GetCount()})
	require.Equal(t, "signature", got[2].GetReason())
	require.WithinDuration(t, start.Add(time.Second), got[2].GetFirst().AsTime(), time.Millisecond)
	require.WithinDuration(t, start.Add(3*time.Second), got[2].GetLast().AsTime(), time.Millisecond)
	for _, one := range d.deliveries(w, nil) {
		require.Positive(t, one.GetCount())
	}
}

func TestDeliveriesAreSearchedAndDeleted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w, other := d.eventWebhook(), d.webhook("other")
	start := time.Now().Add(-time.Minute)
	var all []*orchv1.WebhookDelivery
	for i, person := range []string{"Ada", "Grace", "Ada"} {
		one := failed(fmt.Sprintf(`{"person": %q}`, person))
		one.Received = timestamppb.New(start.Add(time.Duration(i) * time.Second))
		all = append(all, one)
	}
	otherDelivery := failed(`{"person": "Ada"}`)
	d.deliver(other, otherDelivery)
	d.deliver(w, all...)

	search := func(s *orchv1.WebhookDeliverySearch) *orchv1.WebhookDeliverySearchResult {
		return call[*orchv1.WebhookDeliverySearchResult](d, orchv1.WebhookService_SearchDeliveries_FullMethodName, &orchv1.SearchDeliveriesRequest{Id: w.GetId(), Search: s})
	}
	found := search(&orchv1.WebhookDeliverySearch{Text: proto.String(`"person": "ADA"`)})
	require.Len(t, found.GetDeliveries(), 2)
	require.Equal(t, all[2].GetId(), found.GetDeliveries()[0].GetId(), "newest first")
	require.JSONEq(t, `{"person": "Ada"}`, found.GetDeliveries()[0].GetBody())
	require.EqualValues(t, 3, found.GetSearched())
	require.Nil(t, found.NextPageToken)
	require.Nil(t, found.SearchedTo)

	first := search(&orchv1.WebhookDeliverySearch{Text: proto.String("ada"), Limit: &orchv1.PageLimit{Value: 1}})
	require.Len(t, first.GetDeliveries(), 1)
	require.Equal(t, all[2].GetReceived().AsTime().UnixMicro(), first.GetSearchedTo().AsTime().UnixMicro())
	rest := search(&orchv1.WebhookDeliverySearch{Text: proto.String("ada"), Limit: &orchv1.PageLimit{Value: 1}, PageToken: first.GetNextPageToken()})
	require.Equal(t, all[0].GetId(), rest.GetDeliveries()[0].GetId())
	early := search(&orchv1.WebhookDeliverySearch{Text: proto.String("ada"), Deliveries: &orchv1.WebhookDeliveryFilter{Received: &orchv1.TimeFilter{Before_: all[1].GetReceived()}}})
	require.Len(t, early.GetDeliveries(), 1)
	require.Len(t, search(&orchv1.WebhookDeliverySearch{}).GetDeliveries(), 3)

	deleted := call[*orchv1.WebhookDeliveryDeletionResult](d, orchv1.WebhookService_DeleteDeliveries_FullMethodName, &orchv1.DeleteDeliveriesRequest{
		Id: w.GetId(), Deletion: &orchv1.WebhookDeliveryDeletion{Text: proto.String("ada")},
	})
	require.EqualValues(t, 2, deleted.GetDeleted())
	require.EqualValues(t, 3, deleted.GetSearched())
	left := d.deliveries(w, nil)
	require.Len(t, left, 1)
	require.Equal(t, all[1].GetId(), left[0].GetId())
	require.Len(t, d.deliveries(other, nil), 1, "the log of another webhook stays")
	_, _, err := tryIn[*orchv1.WebhookDeliveryDeletionResult](d, uuid.New(), orchv1.WebhookService_DeleteDeliveries_FullMethodName, &orchv1.DeleteDeliveriesRequest{Id: w.GetId()})
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code, "another workspace")
}
