package stream

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/webhook/deliveryfeed"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	pathLive = "/live"
	// nudgeDelay collects the changes that come together, and nudgeInterval bounds the rate of nudges.
	nudgeDelay    = 200 * time.Millisecond
	nudgeInterval = time.Second
	// settleDelay is when a last nudge follows the last change: consumers store events after the feed has them.
	settleDelay = 2 * time.Second
	// maxPageMessage bounds a message of a page, which sends none.
	maxPageMessage = 1 << 10
)

// The messages of a page's socket: it follows changes from now on, and something changed. A nudge carries no data; the page
// asks for what it may see.
var (
	following = []byte(`{"type":"following"}`)
	nudge     = []byte(`{"type":"changed"}`)
)

// Watch selects the changes that a page follows. A nil function selects none.
type Watch struct {
	Event func(*orchv1.ReceivedEvent) bool
	Log   func(*orchv1.Log) bool
	// Delivery selects webhooks whose delivery log has grown.
	Delivery func(webhook uuid.UUID) bool
}

// ServeLive upgrades the request of a page and sends nudges until the page closes the socket: at most one a second, and
// none while nothing changes. The client is authenticated; admit checks the request now and at intervals.
func (s *Server) ServeLive(w http.ResponseWriter, r *http.Request, watch Watch, client Client, admit func() (request.Info, error)) error {
	to := route{scopes: []string{""}, limit: maxPageMessage, serve: func(s *Server, ctx context.Context, k *socket) ending { return s.follow(ctx, k, watch) }}
	return s.bounded(client, func(a *admitted) error {
		return s.accept(w, r, pathLive, to, true, a, func(string, bool, string) (request.Info, error) { return admit() })
	})
}

// follow joins the feeds of a watch and sends nudges.
func (s *Server) follow(ctx context.Context, k *socket, watch Watch) ending {
	ctx = k.untilGone(ctx)
	news := make(chan struct{}, 1)
	var endings []func() ending
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
		endings = append(endings, feed.ending)
	}
	if k.write(ctx, following) != nil {
		return gone
	}
	return k.nudges(ctx, news, endings)
}

// hinted is a feed that wakes a page.
type hinted struct {
	leave  func()
	ending func() ending
}

// joinHint joins a feed if the page follows any of its messages.
func joinHint[T any](ctx context.Context, f *feed[T], k *socket, news chan struct{}, wants func(T) bool) (hinted, error) {
	if wants == nil {
		return hinted{func() {}, func() ending { return ending{} }}, nil
	}
	q := newHint(k.info.Workspace, news, wants)
	return hinted{func() { f.leave(q) }, q.ending}, f.join(ctx, q)
}

// nudges sends a nudge after each change, and one more after the last. An ending of a feed ends the socket.
func (k *socket) nudges(ctx context.Context, news <-chan struct{}, endings []func() ending) ending {
	settled := time.NewTimer(settleDelay)
	settled.Stop()
	defer settled.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return gone
		case <-settled.C:
		case <-news:
			for _, ending := range endings {
				if end := ending(); !end.ok() {
					return end
				}
			}
			wait := time.NewTimer(max(nudgeDelay, nudgeInterval-time.Since(last)))
			select {
			case <-ctx.Done():
				wait.Stop()
				return gone
			case <-wait.C:
			}
			settled.Reset(settleDelay)
		}
		if k.write(ctx, nudge) != nil {
			return gone
		}
		last = time.Now()
	}
}

// feedDeliveries reads the source of the feed of grown delivery logs.
func (s *Server) feedDeliveries(ctx context.Context, ready func()) error {
	return deliveryfeed.Open(s.opts.Broker).Subscribe(ctx, func(workspace, webhook uuid.UUID) {
		s.deliveries.offer(workspace, webhook, message{})
	}, broker.OnReady(ready))
}
