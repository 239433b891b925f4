package hooks

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// confirm confirms a subscription to a topic of Amazon SNS, once for each id. The URL is signed, and the client connects only to
// hosts of SNS. A failure is a 503, so SNS posts the confirmation again.
func (d *delivery) confirm(ctx context.Context, id uuid.UUID, url string) decision {
	d.memory.ReleaseProcessor() // Amazon's response takes a while.
	confirm := func() error { return d.sns.Confirm(ctx, url) }
	var err error
	if id == uuid.Nil {
		err = confirm()
	} else {
		_, err = d.duplicates.Do(ctx, id, confirm)
	}
	if err != nil {
		return d.unavailable(ctx, deliverylog.ReasonHandshake, err)
	}
	return handshake(&receive.Handshake{Name: receive.HandshakeSNS})
}
