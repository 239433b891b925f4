package hooks

import (
	"context"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// confirm confirms a subscription to a topic of Amazon SNS. The URL is signed, and the client connects only to hosts of SNS.
// A failure is a 503, so SNS posts the confirmation again.
func (d *delivery) confirm(ctx context.Context, url string) int {
	if err := d.sns.Confirm(ctx, url); err != nil {
		d.note.Reason = deliverylog.ReasonHandshake
		return d.unavailable(ctx, err)
	}
	return d.shake(&receive.Handshake{Name: receive.HandshakeSNS})
}
