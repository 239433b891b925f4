package deliveries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// learningTime is the time after a start in which every webhook counts as one with a listener: gateways report the listeners within it.
	learningTime = 2 * feeds.ListenerInterval
	// maxListeners bounds the webhooks and workspaces with a listener. Further ones have the delivery log without its wait.
	maxListeners = 8192
	// subscribePause is the time between two attempts to subscribe.
	subscribePause = time.Second
)

// Listeners knows the webhooks whose deliveries somebody receives as they come. It is a run.Worker, and safe for concurrent use.
type Listeners struct {
	feed    *broker.LiveIDs
	clock   clock.Clock
	log     *slog.Logger
	learned time.Time // When gateways have reported all listeners.

	mu    sync.RWMutex
	until map[string]time.Time // By the id of a webhook, or of a workspace for all of its webhooks.
}

// NewListeners returns the listeners that gateways report through a feed.
func NewListeners(feed *broker.LiveIDs, c clock.Clock, log *slog.Logger) *Listeners {
	return &Listeners{feed: feed, clock: c, log: log, learned: c.Now().Add(learningTime), until: map[string]time.Time{}}
}

// Name implements run.Worker.
func (l *Listeners) Name() string { return "listeners of deliveries" }

// Run reads the feed until ctx ends.
func (l *Listeners) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.feed.Subscribe(ctx, l.add); err != nil && ctx.Err() == nil {
			l.log.DebugContext(ctx, "failed to subscribe to listeners of deliveries", "error", err)
			select {
			case <-time.After(subscribePause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// add notes a listener of a webhook; the nil UUID means all webhooks of the workspace.
func (l *Listeners) add(workspace, webhook uuid.UUID) {
	key := webhook.String()
	if webhook == uuid.Nil {
		key = workspace.String()
	}
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, listed := l.until[key]; !listed && len(l.until) >= maxListeners {
		for id, until := range l.until {
			if now.After(until) {
				delete(l.until, id)
			}
		}
		if len(l.until) >= maxListeners {
			return
		}
	}
	l.until[key] = now.Add(deliverylog.ListenerTimeout)
}

// Has reports whether somebody listens to the deliveries of a webhook.
func (l *Listeners) Has(hook *orchv1.WebhookDefinition) bool {
	now := l.clock.Now()
	if now.Before(l.learned) {
		return true
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return now.Before(l.until[hook.GetId()]) || now.Before(l.until[hook.GetWorkspace()])
}
