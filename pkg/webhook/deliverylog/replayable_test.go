package deliverylog_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestOnlyVerifiedRequestsAreReplayable, whatever their status says: in strict quiet mode every refusal is a 400.
func TestOnlyVerifiedRequestsAreReplayable(t *testing.T) {
	t.Parallel()
	entry := func(status int64, reason string) *orchv1.WebhookDelivery {
		d := &orchv1.WebhookDelivery{Status: status}
		if reason != "" {
			d.Reason = &reason
		}
		return d
	}
	replayable := map[string]bool{
		deliverylog.ReasonTemplate: true, deliverylog.ReasonEvent: true, deliverylog.ReasonBroker: true,
		deliverylog.ReasonOverload: true, deliverylog.ReasonFilter: true, deliverylog.ReasonFiltered: true,
	}
	for _, reason := range append(deliverylog.Reasons(), "unheard-of") {
		for _, status := range []int64{400, 401, 403, 405, 413, 415, 429, 503} {
			require.Equal(t, replayable[reason], deliverylog.NotReplayable(entry(status, reason)) == "", "%d %s", status, reason)
		}
	}
	for status, want := range map[int64]bool{http.StatusNoContent: true, http.StatusBadRequest: false, http.StatusServiceUnavailable: false} {
		require.Equal(t, want, deliverylog.NotReplayable(entry(status, "")) == "", status)
	}
	for name, change := range map[string]func(*orchv1.WebhookDelivery){
		"handshake": func(d *orchv1.WebhookDelivery) { d.Handshake = proto.String("slack") },
		"replay":    func(d *orchv1.WebhookDelivery) { d.ReplayOf = proto.String("x") },
		"truncated": func(d *orchv1.WebhookDelivery) { d.BodyTruncated = true },
	} {
		d := entry(http.StatusNoContent, "")
		change(d)
		require.NotEmpty(t, deliverylog.NotReplayable(d), name)
	}
}
