package stream

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	pathLive = "/live"
	// invalidationDelay collects the changes that come together, and invalidationInterval bounds the rate of invalidations.
	invalidationDelay    = 200 * time.Millisecond
	invalidationInterval = time.Second
	// settleDelay is when a last invalidation follows the last change: consumers store events after the feed has them.
	settleDelay = 2 * time.Second
	// maxPageMessage bounds a message of a page, which sends none.
	maxPageMessage = 1 << 10
)

// The messages of a page's socket: it follows changes from now on, and something changed. An invalidation carries no data; the page
// asks for what it may see.
var (
	following    = []byte(`{"type":"following"}`)
	invalidation = []byte(`{"type":"changed"}`)
)

// Watch selects the changes that a page follows. A nil function selects none.
type Watch struct {
	Event func(*orchv1.ReceivedEvent) bool
	Log   func(*orchv1.Log) bool
	// Delivery selects webhooks whose delivery log has grown.
	Delivery func(webhook uuid.UUID) bool
}

// ServeLive upgrades the request of a page and sends invalidations until the page closes the socket: at most one a second, and
// none while nothing changes. The client is authenticated; admit checks the request now and at intervals.
func (s *Server) ServeLive(w http.ResponseWriter, r *http.Request, watch Watch, client Client, admit func() (request.Info, error)) error {
	to := route{scopes: []string{""}, limit: maxPageMessage, serve: func(s *Server, ctx context.Context, k *socket) closeReason { return s.follow(ctx, k, watch) }}
	return s.bounded(client, func(a *admitted) error {
		return s.accept(w, r, pathLive, to, true, a, func(string, bool, string) (request.Info, error) { return admit() })
	})
}

// follow joins the feeds of a watch and sends invalidations.
func (s *Server) follow(ctx context.Context, k *socket, watch Watch) closeReason {
	ctx = k.untilGone(ctx)
	news := make(chan struct{}, 1)
	var reasons []func() closeReason
	for _, join := range []func() (hinted, error){
		func() (hinted, error) { return joinHint(ctx, s.events, k, news, watch.Event) },
		func() (hinted, error) { return joinHint(ctx, s.logs, k, news, watch.Log) },
		func() (hinted, error) { return joinHint(ctx, s.deliveries, k, news, watch.Delivery) },
	} {
		feed, err := join()
		defer feed.leave()
		if err != nil {
			return brokerAway
		}
		reasons = append(reasons, feed.reason)
	}
	if k.write(ctx, following) != nil {
		return closedByClient
	}
	return k.sendInvalidations(ctx, news, reasons)
}

// hinted is a feed that wakes a page.
type hinted struct {
	leave  func()
	reason func() closeReason
}

// joinHint joins a feed if the page follows any of its messages.
func joinHint[T any](ctx context.Context, f *feed[T], k *socket, news chan struct{}, wants func(T) bool) (hinted, error) {
	if wants == nil {
		return hinted{func() {}, func() closeReason { return closeReason{} }}, nil
	}
	q := newHint(k.info.Workspace, news, wants)
	return hinted{func() { f.leave(q) }, q.closeReason}, f.join(ctx, q)
}

// sendInvalidations sends an invalidation after each change, and one more after the last. An ending of a feed ends the socket.
func (k *socket) sendInvalidations(ctx context.Context, news <-chan struct{}, reasons []func() closeReason) closeReason {
	settled := time.NewTimer(settleDelay)
	settled.Stop()
	defer settled.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return closedByClient
		case <-settled.C:
		case <-news:
			for _, reason := range reasons {
				if end := reason(); !end.ok() {
					return end
				}
			}
			wait := time.NewTimer(max(invalidationDelay, invalidationInterval-time.Since(last)))
			select {
			case <-ctx.Done():
				wait.Stop()
				return closedByClient
			case <-wait.C:
			}
			settled.Reset(settleDelay)
		}
		if k.write(ctx, invalidation) != nil {
			return closedByClient
		}
		last = time.Now()
	}
}

// feedDeliveries reads the source of the feed of grown delivery logs.
func (s *Server) feedDeliveries(ctx context.Context, ready func()) error {
	return feeds.Deliveries(s.opts.Broker).Subscribe(ctx, func(workspace, webhook uuid.UUID) {
		s.deliveries.offer(workspace, webhook, message{})
	}, broker.OnReady(ready))
}
