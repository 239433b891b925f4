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
