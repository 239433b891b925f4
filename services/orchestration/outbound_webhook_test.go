package orchestration_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

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

// TestCallsAreLogged: each attempt has its request without credentials, and its response or its failure.
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
	log := func(automation *orchv1.Automation, n int) []*orchv1.AutomationDelivery {
		var found []*orchv1.AutomationDelivery
		eventually(t, func() bool {
			found = call[*orchv1.AutomationDeliveryList](d, orchv1.AutomationService_ReadAutomationDeliveries_FullMethodName,
				&orchv1.ReadAutomationDeliveriesRequest{Id: automation.GetId()}).GetDeliveries()
			return len(found) >= n
		}, "the log has the attempts")
		require.Len(t, found, n)
		return found
	}
	add := func(name, address, event string) *orchv1.Automation {
		document := d.blockDocument("webhook", name, fmt.Sprintf(
			`{"url":%q,"headers":{"Authorization":"topsecret-2","X-Hook":"topsecret-5","Content-Type":"text/plain"},"signing_secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`, address))
		a := d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":[%q]},
			"actions":[{"type":"call-webhook","block_document_id":%q,"payload":"order {{ event.resource.id }}"}]}`, name, event, document))
		d.emit(event, "7")
		return a
	}
	a := add("logged", receiver.URL+"/topsecret-3?key=topsecret-4", "order.paid")
	both := log(a, 2)
	second, first := both[0], both[1]
	require.False(t, first.GetDelivered())
	require.EqualValues(t, http.StatusBadGateway, first.GetStatus())
	require.Equal(t, "status", first.GetReason())
	require.Contains(t, first.GetError(), "status 502")
	require.True(t, second.GetDelivered())
	require.Equal(t, []int64{1, 2}, []int64{first.GetAttempt(), second.GetAttempt()})
	require.Equal(t, first.GetMessageId(), second.GetMessageId())
	require.Equal(t, receiver.URL, second.GetDestination())
	require.Equal(t, "order 7", second.GetBody())
	require.Equal(t, "text/plain", second.GetHeaders()["content-type"])
	require.Equal(t, "***", second.GetHeaders()["x-hook"], "all headers of a block are secrets")
	require.Equal(t, "M\ufffdnchen", second.GetResponseHeaders()["x-city"])
	require.Equal(t, second.GetMessageId(), second.GetHeaders()["webhook-id"])
	require.Equal(t, "thanks", second.GetResponseBody())
	require.NotContains(t, prototext.Format(second), "topsecret")
	require.NotContains(t, prototext.Format(second), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

	blocked := log(add("blocked", "http://169.254.169.254/latest", "order.lost"), 1)[0]
	require.Equal(t, "address", blocked.GetReason())
	require.Nil(t, blocked.Status)
	require.Contains(t, blocked.GetError(), "not public")

	read := func(automation, delivery string) (*orchv1.AutomationDelivery, error) {
		got, _, err := try[*orchv1.AutomationDelivery](d, orchv1.AutomationService_ReadAutomationDelivery_FullMethodName,
			&orchv1.ReadAutomationDeliveryRequest{Id: automation, DeliveryId: delivery})
		return got, err
	}
	got, err := read(a.GetId(), first.GetId())
	require.NoError(t, err)
	require.Equal(t, first.GetError(), got.GetError())
	_, err = read(a.GetId(), blocked.GetId())
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code, "of another automation")
}
