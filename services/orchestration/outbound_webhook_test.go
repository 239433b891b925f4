package orchestration_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// TestCallsAreSigned after Standard Webhooks: the receiver verifies them by the block's secret, a failed attempt is tried again
// with the same id, and no event shows the secret.
func TestCallsAreSigned(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	config := &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS, Tolerance: 300}
	verifier, err := verify.New(config, []string{secret}, nil)
	require.NoError(t, err)
	ids := make(chan string, 10)
	var attempts atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := receive.New(r, "", "", time.Now())
		request.Wire, _ = io.ReadAll(r.Body)
		request.Raw = request.Wire
		proof, err := verifier.Verify(r.Context(), request, time.Now())
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ids <- proof.ID + " " + string(request.Raw)
		if attempts.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	call := func(name, event, secret string) {
		document := d.blockDocument("webhook", name, fmt.Sprintf(`{"url":%q,"signing_secret":%q}`, receiver.URL, secret))
		d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":[%q]},
			"actions":[{"type":"call-webhook","block_document_id":%q,"payload":"order {{ event.resource.id }}"}]}`, name, event, document))
		d.emit(event, "7")
	}
	call("signed", "order.paid", secret)
	one, again := <-ids, <-ids
	require.Equal(t, one, again, "a second attempt has the id of the first")
	require.True(t, strings.HasPrefix(one, "msg_"))
	require.True(t, strings.HasSuffix(one, " order 7"))
	executed := d.eventually("orch.automation.action.executed", 1)
	require.NotContains(t, string(executed[0].GetPayload()), secret)

	call("another-secret", "order.lost", "whsec_AAKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	call("no-secret", "order.sent", "short")
	failed := d.eventually("orch.automation.action.failed", 2)
	reasons := string(failed[0].GetPayload()) + string(failed[1].GetPayload())
	require.Contains(t, reasons, "status 401")
	require.Contains(t, reasons, "signing_secret of the block")
	require.NotContains(t, reasons, "AAKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
}

// TestCallsAreLogged: a delivery has its request without credentials, and the response or the failure of each attempt.
func TestCallsAreLogged(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "topsecret-1")
		w.Header().Set("X-City", "M\xfcnchen") // ISO 8859-1.
		if attempts.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write([]byte("thanks"))
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	add := func(name, address, event string) (*orchv1.Automation, string) {
		document := d.blockDocument("webhook", name, fmt.Sprintf(
			`{"url":%q,"headers":{"Authorization":"topsecret-2","X-Hook":"topsecret-5","Content-Type":"text/plain"},"signing_secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`, address))
		a := d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":[%q]},
			"actions":[{"type":"call-webhook","block_document_id":%q,"payload":"order {{ event.resource.id }}"}]}`, name, event, document))
		d.emit(event, "7")
		return a, document
	}
	a, document := add("logged", receiver.URL+"/topsecret-3?key=topsecret-4", "order.paid")
	log := d.callsOf(a, "delivered")
	require.Len(t, log, 1)
	call := log[0]
	require.Len(t, call.GetLog(), 2)
	first, second := call.GetLog()[0], call.GetLog()[1]
	require.EqualValues(t, http.StatusBadGateway, first.GetStatus())
	require.Equal(t, "status", first.GetReason())
	require.Contains(t, first.GetError(), "status 502")
	require.EqualValues(t, http.StatusOK, second.GetStatus())
	require.Equal(t, "thanks", second.GetResponseBody())
	require.Equal(t, "M\ufffdnchen", second.GetResponseHeaders()["x-city"])
	require.Equal(t, document, call.GetDestinationId())
	require.Equal(t, receiver.URL, call.GetAddress())
	require.Equal(t, http.MethodPost, call.GetMethod())
	require.Equal(t, "order 7", call.GetBody())
	require.Equal(t, "text/plain", call.GetHeaders()["content-type"])
	require.Equal(t, "***", call.GetHeaders()["x-hook"], "all headers of a block are secrets")
	require.Equal(t, "msg_"+call.GetId(), call.GetHeaders()["webhook-id"])
	require.NotContains(t, prototext.Format(call), "topsecret")
	require.NotContains(t, prototext.Format(call), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

	b, _ := add("blocked", "http://169.254.169.254/latest", "order.lost")
	blocked := d.callsOf(b, "failed")[0]
	require.Equal(t, "address", blocked.GetReason())
	require.Contains(t, blocked.GetError(), "not public")

	read := func(automation, delivery string) (*orchv1.DestinationDelivery, error) {
		got, _, err := try[*orchv1.DestinationDelivery](d, orchv1.AutomationService_ReadAutomationDelivery_FullMethodName,
			&orchv1.ReadAutomationDeliveryRequest{Id: automation, DeliveryId: delivery})
		return got, err
	}
	got, err := read(a.GetId(), call.GetId())
	require.NoError(t, err)
	require.Equal(t, call.GetBody(), got.GetBody())
	_, err = read(a.GetId(), blocked.GetId())
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code, "of another automation")
}

// callsOf returns the calls and notifications of an automation once one has a state.
func (d *domain) callsOf(a *orchv1.Automation, state string) (found []*orchv1.DestinationDelivery) {
	d.t.Helper()
	value := orchv1.DestinationDeliveryState(orchv1.DestinationDeliveryState_value["DESTINATION_DELIVERY_STATE_"+strings.ToUpper(state)])
	eventually(d.t, func() bool {
		found = call[*orchv1.DestinationDeliveryList](d, orchv1.AutomationService_ReadAutomationDeliveries_FullMethodName,
			&orchv1.ReadAutomationDeliveriesRequest{Id: a.GetId()}).GetDeliveries()
		return slices.ContainsFunc(found, func(one *orchv1.DestinationDelivery) bool { return one.GetState() == value })
	}, "a delivery is "+state)
	return found
}

// A receiver that refuses a notification fails the action at once. A retry of the dead letter sends it again, with the same id.
func TestARetryNotifiesAgain(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	refuse.Store(true)
	ids := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
		ids <- r.Header.Get("Webhook-Id")
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	document := d.notification("slack-webhook", fmt.Sprintf(`{"url":%q}`, receiver.URL+"/topsecret"))
	a := d.automation(fmt.Sprintf(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["go"]},
		"actions":[{"type":"send-notification","block_document_id":%q,"body":"x"}]}`, document))
	d.emit("go", "all")
	first := <-ids
	failed := d.eventually("orch.automation.action.failed", 1)
	require.Contains(t, string(failed[0].GetPayload()), "status 403")
	retry := func() {
		eventually(t, func() bool { return len(d.deadLetters()) == 1 }, "a dead letter")
		call[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: d.deadLetters()[0].GetId()})
		require.Equal(t, first, <-ids)
	}
	retry() // It fails again.
	refuse.Store(false)
	retry()
	d.eventually("orch.automation.action.executed", 1)
	require.Empty(t, d.deadLetters())
	require.Len(t, d.eventually("orch.automation.action.failed", 1), 1)
	require.NotContains(t, prototext.Format(d.callsOf(a, "delivered")[0]), "topsecret")

	shown := call[*orchv1.Destination](d, orchv1.DestinationService_ReadDestination_FullMethodName, &orchv1.ReadDestinationRequest{Id: document})
	require.Equal(t, document, shown.GetBlockDocumentId())
	require.Equal(t, "slack-webhook/receiver", shown.GetName())
	require.Equal(t, receiver.URL+"/***", shown.GetUrl())
	_, _, err := try[proto.Message](d, orchv1.DestinationService_DeleteDestination_FullMethodName, &orchv1.DeleteDestinationRequest{Id: document})
	code, _ := status(err)
	require.Equal(t, http.StatusConflict, code)
	_, _, err = try[proto.Message](d, orchv1.DestinationService_UpdateDestination_FullMethodName, &orchv1.UpdateDestinationRequest{
		Id: document, Destination: &orchv1.DestinationUpdate{Url: "https://example.com"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"url"}},
	})
	code, _ = status(err)
	require.Equal(t, http.StatusConflict, code)
}

// A notification waits while its receiver is down or its destination is disabled, and is sent by the block as it then is. A block that was
// deleted fails it.
func TestANotificationWaitsForItsReceiver(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	document := d.notification("slack-webhook", `{"url":"http://127.0.0.1:1/down"}`)
	a := d.automation(fmt.Sprintf(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["go"]},
		"actions":[{"type":"send-notification","block_document_id":%q,"body":"x"}]}`, document))
	d.emit("go", "all")
	eventually(t, func() bool { return d.callsOf(a, "pending")[0].GetReason() == "connection" }, "an attempt failed")
	d.eventually("orch.automation.triggered", 1) // The history is read from stored events, which follow the delivery.
	history := call[*orchv1.AutomationHistory](d, orchv1.AutomationService_ReadAutomationHistory_FullMethodName, &orchv1.ReadAutomationHistoryRequest{Id: a.GetId()})
	require.Equal(t, orchv1.ActionOutcome_ACTION_OUTCOME_PENDING, history.GetFirings()[0].GetActions()[0].GetOutcome())
	changed := &orchv1.BlockDocumentUpdate{Data: fmt.Appendf(nil, `{"url":%q}`, receiver.URL+"/up"), MergeExistingData: true}
	call[proto.Message](d, orchv1.BlockDocumentService_UpdateBlockDocument_FullMethodName,
		&orchv1.UpdateBlockDocumentRequest{Id: document, BlockDocument: changed, UpdateMask: sentFields(changed)})
	require.Equal(t, "/up", <-paths)
	d.eventually("orch.automation.action.executed", 1)

	enable := func(enabled bool) {
		call[proto.Message](d, orchv1.DestinationService_UpdateDestination_FullMethodName, &orchv1.UpdateDestinationRequest{
			Id: document, Destination: &orchv1.DestinationUpdate{Enabled: enabled}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"enabled"}},
		})
	}
	enable(false)
	d.emit("go", "all")
	d.callsOf(a, "pending")
	call[proto.Message](d, orchv1.BlockDocumentService_DeleteBlockDocument_FullMethodName, &orchv1.DeleteBlockDocumentRequest{Id: document})
	enable(true)
	failed := d.eventually("orch.automation.action.failed", 1)
	require.Contains(t, string(failed[0].GetPayload()), "the block cannot be used")
}
