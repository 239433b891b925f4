package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/types/known/timestamppb"

	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

const (
	// tellEvery is how often an account is told that it was used from an address that is not allowed.
	tellEvery = time.Minute
	// tellTimeout bounds how long the refusal waits for the broker to have it.
	tellTimeout = time.Second
)

// tellers keep each account from being told too often. Only accounts that enforce a list are in it.
type tellers struct{ of sync.Map }

// do calls tell unless it was called for the account a moment ago.
func (t *tellers) do(account uuid.UUID, tell func()) {
	sometimes, _ := t.of.LoadOrStore(account, &rate.Sometimes{Interval: tellEvery})
	sometimes.(*rate.Sometimes).Do(tell)
}

// admitAddress refuses to use an account from an address that is not on its list, if it enforces one. Whoever asks has
// shown who they are before: strangers learn nothing of the list. The error is the answer.
func (g *Gateway) admitAddress(r *http.Request, account uuid.UUID) error {
	if g.known == nil || account == uuid.Nil {
		return nil
	}
	from := g.addresses.Client(r)
	err := authn.Keys{Directory: g.known}.From(r.Context(), account, from)
	if errors.Is(err, authn.ErrAddress) {
		g.refused.do(account, func() { g.tellOfAddress(r.Context(), account, from) })
	}
	return err
}

// tellOfAddress makes an event of the account that it was used from an address that is not allowed.
func (g *Gateway) tellOfAddress(ctx context.Context, account uuid.UUID, from netip.Addr) {
	vocab, now := g.cfg.Vocabulary, timestamppb.Now()
	id, err := uuid.NewV7()
	if err != nil {
		g.log.WarnContext(ctx, "telling of a refused address", "error", err)
		return
	}
	event, err := wire.ToBroker(vocab, &orchv1.ReceivedEvent{
		Id: id.String(), Occurred: now, Received: now,
		Event: vocab.CloudName("request", "access-denied", "ip-allowlist"),
		Resource: &orchv1.Resource{Labels: map[string]string{
			vocab.ResourceID(): vocab.CloudName("account", account.String()), "ip_address": from.String(),
		}},
	}, account)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
		defer cancel()
		err = g.deps.Broker.Publisher().Publish(ctx, event)
	}
	if err != nil {
		g.log.WarnContext(ctx, "telling of a refused address", "account", account, "error", err)
	}
}
