package authz

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
	// auditInterval is the minimum interval between two events of an account about refused addresses.
	auditInterval = time.Minute
	// auditTimeout bounds the wait for the broker's acknowledgement of such an event.
	auditTimeout = time.Second
)

// perAccountThrottle limits the event rate per account. It holds only accounts that enforce an allow list.
type perAccountThrottle struct{ times sync.Map }

// do calls f unless it called f for the account within the last interval.
func (t *perAccountThrottle) do(account uuid.UUID, f func()) {
	sometimes, _ := t.times.LoadOrStore(account, &rate.Sometimes{Interval: auditInterval})
	sometimes.(*rate.Sometimes).Do(f)
}

// admitAddress returns the response for a client address that the account's allow list excludes, nil if the address is
// allowed. It runs after authentication, so strangers learn nothing about the list.
func (a *Authorizer) admitAddress(r *http.Request, account uuid.UUID) error {
	if a.opts.Directory == nil || account == uuid.Nil {
		return nil
	}
	from := a.opts.Addresses.Client(r)
	err := authn.Keys{Directory: a.opts.Directory}.From(r.Context(), account, from)
	if errors.Is(err, authn.ErrAddress) {
		a.denials.do(account, func() { a.publishAddressDenied(r.Context(), account, from) })
	}
	return err
}

// publishAddressDenied publishes an event of the account about a refused client address.
func (a *Authorizer) publishAddressDenied(ctx context.Context, account uuid.UUID, from netip.Addr) {
	vocab, now := a.opts.Vocabulary, timestamppb.Now()
	id, err := uuid.NewV7()
	if err != nil {
		a.opts.Log.WarnContext(ctx, "failed to publish the event of a refused address", "error", err)
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
		defer cancel()
		err = a.opts.Broker.Publisher().Publish(ctx, event)
	}
	if err != nil {
		a.opts.Log.WarnContext(ctx, "failed to publish the event of a refused address", "account", account, "error", err)
	}
}
