package destinations

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/quota"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Matcher stores a delivery for each event and destination with a subscription to the event. One replica at a time uses it, in the order
// of the stream.
type Matcher struct {
	service *Service

	mu         sync.Mutex
	workspaces map[uuid.UUID]*subscribers
	// examined is the last time at which workspaces without events were looked for.
	examined time.Time
}

const (
	// idleWorkspace is how long the destinations of a workspace without events stay in memory.
	idleWorkspace = 35 * time.Minute
	// examineEvery is how often workspaces without events are looked for.
	examineEvery = time.Minute
)

// NewMatcher returns a matcher that knows no destinations yet.
func (s *Service) NewMatcher() *Matcher {
	return &Matcher{service: s, workspaces: map[uuid.UUID]*subscribers{}}
}

// subscribers are the destinations of a workspace by the names of events.
type subscribers struct {
	index *match.Index[*subscriber]
	all   map[uuid.UUID]*subscriber
	// account owns the workspace.
	account uuid.UUID
	// changed reports that a destination has changed since.
	changed bool
	// used is the time of the last event.
	used time.Time
}

// subscriber is a destination with subscriptions.
type subscriber struct {
	id       uuid.UUID
	resource string
	ordered  []string
	// reported is the last time at which refused deliveries were reported.
	reported time.Time
}

// Reset forgets all destinations: another replica may have stored deliveries meanwhile.
func (m *Matcher) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.workspaces)
}

// queueBudget bounds the cost of one call of Queue. Its unit is one delivery, lengthCost bytes of deliveries, or engine.EffortCost.
const (
	queueBudget = 10_000
	lengthCost  = 4 << 10
)

// Queue implements engine.Subscriptions. A failure of one destination concerns no other one.
func (m *Matcher) Queue(ctx context.Context, ws uuid.UUID, events []engine.Incoming, rejected *broker.Rejected) (n int, err error) {
	var current *subscribers
	queued := map[*subscriber][]*orchv1.DestinationDelivery{}
	for cost := 0; n < len(events) && cost < queueBudget; n++ {
		next := &events[n]
		if changesDestinations(m.service.Vocabulary.String(), next.Name()) {
			m.change(ws)
		}
		subscribed, err := m.load(ctx, ws)
		if err != nil {
			return 0, err
		}
		if subscribed != current { // The deliveries before a change of destinations precede those after it.
			if err := m.storeAll(ctx, ws, current, queued); err != nil {
				return 0, err
			}
			clear(queued)
			current = subscribed
		}
		if !subscribed.index.MayMatch(next.Name()) {
			continue
		}
		event, err := next.Decode()
		if err != nil {
			continue // The evaluation of automations, or the persister, moves it to the dead letters.
		}
		taking, effort, err := subscribed.index.Takers(event)
		cost += effort / engine.EffortCost
		if err != nil {
			rejected.Reject(broker.Key{Workspace: ws, ID: next.ID()}, fmt.Errorf("compare an event with destinations: %w", err))
			continue
		}
		taking = unique(taking)
		cost += len(taking) * (1 + proto.Size(event)/lengthCost)
		for _, to := range taking {
			if event.GetResource().GetLabels()[m.service.Vocabulary.ResourceID()] == to.resource {
				continue // A destination does not receive the events about itself, which its deliveries cause.
			}
			queued[to] = append(queued[to], m.delivery(to, event))
		}
	}
	return n, m.storeAll(ctx, ws, current, queued)
}

// storeAll stores the deliveries of each destination, or refuses all of an account that stores more than it may. The error is an outage.
func (m *Matcher) storeAll(ctx context.Context, ws uuid.UUID, subscribed *subscribers, queued map[*subscriber][]*orchv1.DestinationDelivery) error {
	if len(queued) == 0 {
		return nil
	}
	keep := m.store
	usedUp, err := m.service.Quotas.StoredBytesUsedUp(ctx, subscribed.account)
	if err != nil {
		return fmt.Errorf("read the stored bytes of an account: %w", err)
	}
	if usedUp {
		keep = m.refuse
	}
	pass := m.service.Store.Pass(ctx, "queue the deliveries of a destination")
	for to, deliveries := range queued {
		err := keep(ctx, ws, to, deliveries)
		if err != nil {
			m.change(ws) // The destination may be another one now.
		}
		if pass.Record(err, "workspace", ws, "destination_id", to.id) != nil {
			break
		}
	}
	return pass.Outage()
}

// changesDestinations reports whether an event of a name says that a destination changed.
func changesDestinations(prefix, name string) bool {
	verb, ok := strings.CutPrefix(name, prefix)
	return ok && (verb == "."+kind+".created" || verb == "."+kind+".updated" || verb == "."+kind+".deleted")
}

// unique returns the destinations of an event, each once: several of its subscriptions may take the event.
func unique(matches []*subscriber) []*subscriber {
	if len(matches) < 2 {
		return matches
	}
	slices.SortFunc(matches, func(a, b *subscriber) int { return bytes.Compare(a.id[:], b.id[:]) })
	return slices.Compact(matches)
}

// change notes that a destination of a workspace has changed.
func (m *Matcher) change(ws uuid.UUID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if subscribed := m.workspaces[ws]; subscribed != nil {
		subscribed.changed = true
	}
}

// use returns the destinations of a workspace that are in memory, nil for none, and forgets those of workspaces without events.
func (m *Matcher) use(ws uuid.UUID) *subscribers {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.service.Store.Now()
	if now.Sub(m.examined) >= examineEvery {
		m.examined = now
		maps.DeleteFunc(m.workspaces, func(_ uuid.UUID, s *subscribers) bool { return now.Sub(s.used) >= idleWorkspace })
	}
	used := m.workspaces[ws]
	if used != nil {
		used.used = now
	}
	return used
}

// load returns the destinations of a workspace, and reads them unless they are in memory. Destinations that this version cannot read are
// absent.
func (m *Matcher) load(ctx context.Context, ws uuid.UUID) (*subscribers, error) {
	before := m.use(ws)
	if before != nil && !before.changed {
		return before, nil
	}
	found, err := m.service.destinations.FindAcross(ctx, store.Query{
		Filter: bson.D{{Key: "ws", Value: store.Binary(ws)}, withSubscriptions}, Sort: bson.D{{Key: "name", Value: 1}}, Limit: 2 * maxDestinations,
		Fields: []string{"_id", "ws", "ordered_by", "subscriptions.events"},
	})
	if err != nil {
		return nil, err
	}
	loaded := &subscribers{index: match.NewIndex[*subscriber](), all: map[uuid.UUID]*subscriber{}, used: m.service.Store.Now()}
	if len(found) > 0 {
		if loaded.account, err = m.service.Account(ctx, ws); err != nil && !errors.Is(err, store.ErrNotFound) { // It may be deleted already.
			return nil, err
		}
	}
	pass := m.service.Store.Pass(ctx, "read the id of a destination")
	for _, one := range found {
		d := one.Message
		id, err := uuid.Parse(d.GetId())
		if err != nil {
			_ = pass.Record(err, "workspace", ws)
			continue
		}
		to := &subscriber{
			id: id, resource: m.service.Vocabulary.Name(kind, d.GetId()), ordered: d.GetOrderedBy(),
		}
		if before != nil && before.all[id] != nil {
			to.reported = before.all[id].reported
		}
		loaded.all[id] = to
		for _, subscription := range d.GetSubscriptions() {
			loaded.index.Add(filterOf(subscription), to)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workspaces[ws] = loaded
	return loaded, nil
}

// filterOf returns the filter of the names of a subscription.
func filterOf(subscription *orchv1.DestinationSubscription) *match.Filter {
	return match.NewNameFilter(subscription.GetEvents())
}

// delivery is the delivery of an event to a destination.
func (m *Matcher) delivery(to *subscriber, event *orchv1.ReceivedEvent) *orchv1.DestinationDelivery {
	d := &orchv1.DestinationDelivery{
		Id:      uuid.NewSHA1(to.id, []byte(event.GetId())).String(),
		EventId: event.GetId(), Event: event.GetEvent(), Source: event, Traceparent: event.GetTraceparent(),
	}
	if len(to.ordered) > 0 {
		key := orderKey(to.ordered, event)
		d.Key = &key
	}
	return d
}

// orderKey is a digest of the values of labels: they may be long.
func orderKey(labels []string, event *orchv1.ReceivedEvent) string {
	digest := sha256.New()
	for _, label := range labels {
		value := trigger.LabelValue(event, label)
		fmt.Fprintf(digest, "%d:%s", len(value), value)
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// errQuota is the cause of deliveries that are refused because the account stores more than it may.
var errQuota = fmt.Errorf("the account uses up its quota %s", quota.StoredBytes)

// refuse reports deliveries that are not stored.
func (m *Matcher) refuse(ctx context.Context, ws uuid.UUID, to *subscriber, deliveries []*orchv1.DestinationDelivery) error {
	if !to.mayReport(m.service.Store.Now()) {
		return nil
	}
	_, err := m.service.edit(ctx, ws, to.id, func(next *orchv1.Destination) ([]store.Effect, error) {
		return m.service.reportRefused(ws, next, len(deliveries), errQuota)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// store stores deliveries in their order, as far as the queue of the destination has room.
func (m *Matcher) store(ctx context.Context, ws uuid.UUID, to *subscriber, deliveries []*orchv1.DestinationDelivery) error {
	result, err := m.service.enqueue(ctx, ws, to.id, deliveries, func(next *orchv1.Destination, refused int) ([]store.Effect, error) {
		if refused == 0 || !to.mayReport(m.service.Store.Now()) {
			return nil, nil
		}
		return m.service.reportRefused(ws, next, refused, action.ErrQueueFull)
	})
	for _, one := range result.bad {
		err = errors.Join(err, m.service.deadLetter(ctx, ws, to.id, deliveries[one.Position], one.Err))
	}
	if errors.Is(err, store.ErrNotFound) { // It was deleted, perhaps before these deliveries were stored.
		return m.service.deleteDeliveries(ctx, ws, to.id)
	}
	return err
}
