package destinations

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// signing is a secret of signatures.
const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// world is the service on a store, with a clock of the test.
type world struct {
	*Service
	t       testing.TB
	clock   *clock.Manual
	ws      uuid.UUID
	matcher *Matcher
	sender  *Sender
}

func newWorld(t testing.TB) *world {
	t.Helper()
	c := clock.NewManual(noon)
	ring, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	return newWorldOn(t, storetest.New(t, c), c, ring)
}

// newWorldOn is another replica on a store.
func newWorldOn(t testing.TB, db *store.Store, c *clock.Manual, ring secrets.Keyring) *world {
	t.Helper()
	loopback, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	s := New(Deps{
		Store: db, Vocabulary: vocabulary.Orch, Secrets: ring, Dial: loopback, Random: func() float64 { return 0.5 },
		Account: func(context.Context, uuid.UUID) (uuid.UUID, error) { return uuid.Nil, store.ErrNotFound },
		Tenancy: tenancy.New(tenancy.Deps{Store: db, Vocabulary: vocabulary.Orch}),
		DeadLetter: func(ctx context.Context, destination uuid.UUID, e store.Effect, attempts int, reason error) error {
			return db.InsertDeadLetter(ctx, store.DeadLetter{
				ID: e.ID, Kind: e.Kind, Workspace: e.Workspace(), Collection: query.Destination, Document: destination, At: e.At, FailedAt: c.Now(),
				Attempts: attempts, Reason: reason.Error(), Body: e.Body,
			})
		},
		Log: slog.New(slog.DiscardHandler),
	})
	return &world{Service: s, t: t, clock: c, ws: uuid.New(), matcher: s.NewMatcher(), sender: s.NewSender()}
}

func (w *world) ctx() context.Context { return requesttest.Incoming(w.t, w.ws) }

// create stores a destination that receives the events order.*.
func (w *world) create(address string, change ...func(*orchv1.DestinationCreate)) *orchv1.Destination {
	w.t.Helper()
	create := &orchv1.DestinationCreate{
		Name: uuid.NewString(), Url: address, Enabled: true, RetryFor: 604800,
		Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"order.*"}}},
	}
	for _, c := range change {
		c(create)
	}
	d, err := w.CreateDestination(w.ctx(), &orchv1.CreateDestinationRequest{Destination: create})
	require.NoError(w.t, err)
	w.matcher.Reset()
	return d
}

func (w *world) update(d *orchv1.Destination, update *orchv1.DestinationUpdate, fields ...string) {
	w.t.Helper()
	_, err := w.UpdateDestination(w.ctx(), &orchv1.UpdateDestinationRequest{
		Id: d.GetId(), Destination: update, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields},
	})
	require.NoError(w.t, err)
	w.matcher.Reset()
}

// queue stores the deliveries of events, in as many calls as it takes.
func (w *world) queue(ws uuid.UUID, batch []broker.Event) error {
	rejected := &broker.Rejected{}
	for events := engine.FromStream(batch); len(events) > 0; {
		n, err := w.matcher.Queue(w.t.Context(), ws, events, rejected)
		if err != nil {
			return err
		}
		events = events[n:]
	}
	return rejected.Err()
}

// event is an event as the broker delivers it.
func (w *world) event(name, resource string) broker.Event {
	w.t.Helper()
	e, err := wire.ToBroker(vocabulary.Orch, &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(noon), Received: timestamppb.New(noon), Payload: []byte(`{"n":5}`),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}},
	}, w.ws)
	require.NoError(w.t, err)
	return e
}

// emit queues an event for each resource.
func (w *world) emit(resources ...string) (batch []broker.Event) {
	w.t.Helper()
	for _, resource := range resources {
		batch = append(batch, w.event("order.paid", resource))
	}
	require.NoError(w.t, w.queue(w.ws, batch))
	return batch
}

// pass sends what is due now, until nothing is.
func (w *world) pass() {
	w.t.Helper()
	var group sync.WaitGroup
	require.NoError(w.t, w.sender.begin(w.t.Context(), workspacelimit.New(maxClaims, maxWorkspaceClaims), &group))
	group.Wait()
}

// log returns the deliveries of a destination, the first one first.
func (w *world) log(d *orchv1.Destination) []*orchv1.DestinationDelivery {
	w.t.Helper()
	found, err := w.ReadDestinationDeliveries(w.ctx(), &orchv1.ReadDestinationDeliveriesRequest{
		Id: d.GetId(), Query: &orchv1.DestinationDeliveryQuery{Sort: orchv1.DestinationDeliverySort_DESTINATION_DELIVERY_SORT_QUEUED_ASC},
	})
	require.NoError(w.t, err)
	return found.GetDeliveries()
}

func (w *world) read(d *orchv1.Destination) *orchv1.Destination {
	w.t.Helper()
	found, err := w.ReadDestination(w.ctx(), &orchv1.ReadDestinationRequest{Id: d.GetId()})
	require.NoError(w.t, err)
	return found
}

// published returns the names of the events that documents have caused.
func (w *world) published(collection query.Collection, id string) (names []string) {
	w.t.Helper()
	effects, err := w.Store.Pending(w.t.Context(), collection, store.DocumentKey{Workspace: w.ws, ID: uuid.MustParse(id)})
	require.NoError(w.t, err)
	for _, e := range effects {
		if e.Kind != events.KindPublish {
			continue
		}
		event := &orchv1.ReceivedEvent{}
		_, err := e.DecodeMessage(event)
		require.NoError(w.t, err)
		names = append(names, event.GetEvent())
	}
	return names
}

// receiver records what it receives and responds as a test wants.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	respond func(w http.ResponseWriter, r *http.Request, body string)
	got     []received
}

type received struct {
	id, body string
	header   http.Header
}

func newReceiver(t testing.TB, respond func(w http.ResponseWriter, r *http.Request, body string)) *receiver {
	t.Helper()
	r := &receiver{respond: respond}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, received{q.Header.Get("Webhook-Id"), string(body), q.Header})
	if r.respond != nil {
		r.respond(w, q, string(body))
	}
}

// set changes how the receiver responds.
func (r *receiver) set(respond func(w http.ResponseWriter, r *http.Request, body string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.respond = respond
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// status responds with a status.
func status(code int) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(code) }
}

// resources are n resources of k keys.
func resources(n, k int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("order.%d", i%k))
	}
	return all
}
