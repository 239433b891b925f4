package destinations

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

const (
	pending   = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING
	delivered = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED
	failed    = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED
)

// A failed attempt is followed by another one with the same id; both are signed and logged, without secrets.
func TestDeliveriesAreSignedAndLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, status(http.StatusBadGateway))
	d := w.create(r.URL+"/path?key=topsecret", func(c *orchv1.DestinationCreate) {
		c.Secret, c.Headers = proto.String(signing), map[string]string{"X-Tenant": "topsecret", "User-Agent": "shop"}
	})
	require.NotContains(t, prototext.Format(w.read(d)), "X-Tenant: topsecret")
	require.Equal(t, []string{"User-Agent", "X-Tenant"}, d.GetHeaderNames())
	require.True(t, d.GetSigned())
	w.emit("order.1")
	w.pass()
	w.pass()
	require.Len(t, r.all(), 1, "the next attempt is later")
	r.set(status(http.StatusAccepted))
	w.clock.Advance(egress.FirstRetry)
	w.pass()

	got := r.all()
	require.Len(t, got, 2)
	require.Equal(t, got[0].id, got[1].id)
	verifier, err := verify.New(&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS, Tolerance: 300}, []string{signing}, nil)
	require.NoError(t, err)
	for _, one := range got {
		require.Contains(t, one.body, `"event":"order.paid"`)
		require.Equal(t, "topsecret", one.header.Get("X-Tenant"))
		request := receive.New(&http.Request{Header: one.header, Method: http.MethodPost, URL: &url.URL{}}, "", "", w.clock.Now())
		request.Raw, request.Wire = []byte(one.body), []byte(one.body)
		_, err := verifier.Verify(t.Context(), request, w.clock.Now())
		require.NoError(t, err)
	}
	log := w.log(d)
	require.Len(t, log, 1)
	require.Equal(t, delivered, log[0].GetState())
	require.Equal(t, "msg_"+log[0].GetId(), got[0].id)
	require.Equal(t, r.URL, log[0].GetAddress())
	require.Equal(t, "shop", log[0].GetHeaders()["user-agent"])
	require.Len(t, log[0].GetLog(), 2)
	require.EqualValues(t, http.StatusBadGateway, log[0].GetLog()[0].GetStatus())
	require.Equal(t, egress.ReasonStatus, log[0].GetLog()[0].GetReason())
	require.EqualValues(t, http.StatusAccepted, log[0].GetLog()[1].GetStatus())
	require.NotContains(t, prototext.Format(log[0]), "topsecret")
	require.Nil(t, log[0].NextAttempt)
}

// Receivers that fail now and then get the deliveries of each key in their order, each until it succeeds.
func TestKeysKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accepted := map[string][]string{} // Of each key, by the ids of events.
	r := newReceiver(t, nil)
	r.set(func(rw http.ResponseWriter, _ *http.Request, body string) {
		if rand.IntN(3) == 0 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		key, event, _ := strings.Cut(body, " ")
		accepted[key] = append(accepted[key], event)
	})
	d := w.create(r.URL, func(c *orchv1.DestinationCreate) {
		c.OrderedBy = []string{"orch.resource.id"}
		c.Subscriptions[0].Template = proto.String("{{ event.resource.id }} {{ event.id }}")
	})
	sent := map[string][]string{}
	const events, keys = 150, 7
	for part := range slices.Chunk(resources(events, keys), 40) {
		for i, e := range w.emit(part...) {
			sent[part[i]] = append(sent[part[i]], e.ID.String())
		}
		w.pass()
		w.clock.Advance(10 * time.Second)
	}
	done := func() bool {
		return !slices.ContainsFunc(w.log(d), func(d *orchv1.DestinationDelivery) bool { return d.GetState() == pending })
	}
	for i := 0; !done(); i++ {
		require.Less(t, i, 2000)
		w.clock.Advance(10 * time.Minute)
		w.pass()
	}
	require.Equal(t, sent, accepted)
}

// While a destination is down only probes reach it. When it is back, everything is delivered once, in order, and an event tells its owner.
func TestADestinationThatIsDownForADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, status(http.StatusInternalServerError))
	d := w.create(r.URL, func(c *orchv1.DestinationCreate) {
		c.OrderedBy = []string{"orch.resource.id"}
		c.Subscriptions[0].Template = proto.String("{{ event.id }}")
	})
	var ids []string
	const events = 240
	for range 24 {
		for _, e := range w.emit(resources(events/24, 1)...) {
			ids = append(ids, e.ID.String())
		}
		for range 12 {
			w.clock.Advance(5 * time.Minute)
			w.pass()
		}
	}
	attempts := len(r.all())
	require.Less(t, attempts, 24*12+2*failuresToOpen, "the circuit is open")
	health := w.read(d).GetHealth()
	require.Equal(t, orchv1.DestinationStatus_DESTINATION_STATUS_FAILING, health.GetStatus())
	require.Contains(t, health.GetCause(), "status 500")
	require.Equal(t, []string{"orch.destination.created", "orch-cloud.destination.created", "orch.destination.failing"}, w.published(query.Destination, d.GetId()))

	r.set(status(http.StatusOK))
	w.clock.Advance(10 * time.Minute)
	w.pass()
	var bodies []string
	for _, one := range r.all()[attempts:] {
		bodies = append(bodies, one.body)
	}
	require.Equal(t, ids, bodies)
	require.Equal(t, orchv1.DestinationStatus_DESTINATION_STATUS_HEALTHY, w.read(d).GetHealth().GetStatus())
	require.Equal(t, "orch.destination.recovered", w.published(query.Destination, d.GetId())[3])
}

// A delivery fails for good after the time for its attempts, and can be sent again with its id.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, status(http.StatusBadRequest))
	d := w.create(r.URL, func(c *orchv1.DestinationCreate) { c.RetryFor = 3600 })
	w.emit("order.1")
	for range 200 {
		w.pass()
		w.clock.Advance(time.Minute)
	}
	log := w.log(d)[0]
	require.Equal(t, failed, log.GetState())
	require.LessOrEqual(t, len(log.GetLog()), maxLog)
	took := log.GetFinished().AsTime().Sub(log.GetFirstAttempt().AsTime())
	require.GreaterOrEqual(t, took, time.Hour)
	require.Less(t, took, time.Hour+10*time.Minute)
	require.Equal(t, []string{"orch.destination.delivery-failed"}, w.published(query.DestinationDelivery, log.GetId()))

	r.set(status(http.StatusOK))
	w.clock.Advance(time.Hour)
	resent, err := w.ResendDestinationDeliveries(w.ctx(), &orchv1.ResendDestinationDeliveriesRequest{Id: d.GetId()})
	require.NoError(t, err)
	require.EqualValues(t, 1, resent.GetResent())
	w.pass()
	got := r.all()
	require.Equal(t, got[0].id, got[len(got)-1].id)
	require.Equal(t, got[0].body, got[len(got)-1].body)
	require.Equal(t, delivered, w.log(d)[0].GetState())
	resent, err = w.ResendDestinationDeliveries(w.ctx(), &orchv1.ResendDestinationDeliveriesRequest{Id: d.GetId()})
	require.NoError(t, err)
	require.Zero(t, resent.GetResent(), "none failed")
}

// A 410 ends the attempts at once.
func TestADestinationThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, status(http.StatusGone)).URL)
	w.emit("order.1")
	w.pass()
	require.Equal(t, failed, w.log(d)[0].GetState())
	require.Equal(t, reasonGone, w.log(d)[0].GetReason())
}

// A destination that asks for a pause gets it, up to a day.
func TestAPauseIsHonouredAndBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"120": 2 * time.Minute, "1000000000": longestRetryAfter} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
				rw.Header().Set("Retry-After", text)
				rw.WriteHeader(http.StatusTooManyRequests)
			})
			d := w.create(r.URL)
			w.emit("order.1", "order.2")
			w.pass()
			attempts := len(r.all())
			w.clock.Advance(want - time.Minute)
			w.pass()
			require.Len(t, r.all(), attempts)
			require.Equal(t, orchv1.DestinationStatus_DESTINATION_STATUS_PAUSED, w.read(d).GetHealth().GetStatus())
			r.set(status(http.StatusOK))
			w.clock.Advance(2 * time.Minute)
			w.pass()
			require.Len(t, r.all(), attempts+2)
		})
	}
}

// A disabled destination keeps what comes, and sends it when it is enabled.
func TestADisabledDestinationKeepsDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	d := w.create(r.URL, func(c *orchv1.DestinationCreate) { c.Enabled = false })
	w.emit("order.1", "order.2")
	w.pass()
	w.clock.Advance(30 * 24 * time.Hour)
	w.pass()
	require.Empty(t, r.all())
	w.update(d, &orchv1.DestinationUpdate{Enabled: true}, "enabled")
	w.pass()
	require.Len(t, r.all(), 2)
}

// The first subscription that takes an event renders it. A filter that fails is an error of the delivery, which can be sent again.
func TestSubscriptionsFilterAndRender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	d := w.create(r.URL, func(c *orchv1.DestinationCreate) {
		c.Subscriptions = []*orchv1.DestinationSubscription{
			{Events: []string{"order.paid"}, Filter: proto.String("event.payload.n > 5"), Template: proto.String("more than five")},
			{Events: []string{"order.*"}, Filter: proto.String(`event.resource.id != "order.2"`), Template: proto.String("{{ event.resource.id }}")},
		}
	})
	batch := w.emit("order.1", "order.2")
	require.NoError(t, w.queue(w.ws, batch), "the same events again")
	require.NoError(t, w.queue(w.ws, append(batch[:0:0], w.event("other", "order.3"))))
	w.pass()
	require.Equal(t, []string{"order.1"}, func() (bodies []string) {
		for _, one := range r.all() {
			bodies = append(bodies, one.body)
		}
		return bodies
	}())
	require.Len(t, w.log(d), 1, "what no subscription takes is not logged")

	failing := &orchv1.DestinationSubscription{Events: []string{"*"}, Filter: proto.String("1 / 0 > 1")}
	w.update(d, &orchv1.DestinationUpdate{Subscriptions: []*orchv1.DestinationSubscription{failing}}, "subscriptions")
	w.clock.Advance(time.Second)
	w.emit("order.4")
	w.pass()
	log := w.log(d)[1]
	require.Equal(t, failed, log.GetState())
	require.Equal(t, reasonTemplate, log.GetReason())
	require.Contains(t, log.GetError(), "filter of subscription 1")
	require.Equal(t, orchv1.DestinationStatus_DESTINATION_STATUS_HEALTHY, w.read(d).GetHealth().GetStatus(), "the destination is innocent")
	w.update(d, &orchv1.DestinationUpdate{Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"*"}}}}, "subscriptions")
	_, err := w.ResendDestinationDeliveries(w.ctx(), &orchv1.ResendDestinationDeliveriesRequest{Id: d.GetId()})
	require.NoError(t, err)
	w.pass()
	require.Equal(t, delivered, w.log(d)[1].GetState())
	require.Contains(t, r.all()[1].body, "order.4")
}

// Receivers that misbehave fail their own deliveries, with the cause, and are tried again.
func TestReceiversThatMisbehave(t *testing.T) {
	t.Parallel()
	self := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/", http.StatusFound) }))
	t.Cleanup(self.Close)
	private := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest", http.StatusTemporaryRedirect))
	t.Cleanup(private.Close)
	chainless := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(chainless.Close)
	endless := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(http.StatusInternalServerError)
		for r.Context().Err() == nil {
			if _, err := rw.Write([]byte(strings.Repeat("x", 4096))); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	for name, test := range map[string]struct{ address, reason, cause string }{
		"302 to itself":              {self.URL, egress.ReasonStatus, "status 302"},
		"redirect to a private one":  {private.URL, egress.ReasonStatus, "status 307"},
		"certificate without a root": {chainless.URL, egress.ReasonConnection, "certificate"},
		"endless body":               {endless.URL, egress.ReasonStatus, "status 500"},
		"private address":            {"http://169.254.169.254/latest", egress.ReasonAddress, "not public"},
		"nobody listens":             {"http://127.0.0.1:1/", egress.ReasonConnection, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.create(test.address)
			w.emit("order.1")
			w.pass()
			log := w.log(d)[0]
			require.Equal(t, pending, log.GetState())
			require.Equal(t, test.reason, log.GetReason())
			require.Contains(t, log.GetError(), test.cause)
			require.LessOrEqual(t, len(log.GetLog()[0].GetResponseBody()), egress.MaxShown)
		})
	}
}

// A replica that dies leaves its destination to another one after the end of its claim, and ends nothing afterwards.
func TestAClaimEndsWithItsReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	d := w.create(r.URL)
	w.emit("order.1")
	id := uuid.MustParse(d.GetId())
	dead, err := w.claim(t.Context(), w.ws, id)
	require.NoError(t, err)
	_, err = w.claim(t.Context(), w.ws, id)
	require.ErrorIs(t, err, errTaken)

	other := newWorldOn(t, w.Store, w.clock, w.Secrets)
	other.pass()
	require.Empty(t, r.all())
	w.clock.Advance(leader.Duration)
	other.pass()
	require.Len(t, r.all(), 1)
	require.ErrorIs(t, dead.yield(t.Context()), errTaken)
	held, err := dead.renew(t.Context())
	require.NoError(t, err)
	require.False(t, held)
}

// A delivery that is stored while a claim ends is not overlooked.
func TestAClaimDoesNotEndOverNewDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL)
	w.emit("order.1")
	claimed, err := w.claim(t.Context(), w.ws, uuid.MustParse(d.GetId()))
	require.NoError(t, err)
	before := w.read(d).GetSequence()
	w.emit("order.2")
	require.ErrorIs(t, claimed.end(t.Context(), before, noon), errChanged)
	require.NoError(t, claimed.end(t.Context(), w.read(d).GetSequence(), w.clock.Now()))
	w.pass()
	for _, one := range w.log(d) {
		require.Equal(t, delivered, one.GetState())
	}
}

// Deliveries of a deleted destination are deleted, also those that are stored afterwards.
func TestDeliveriesGoWithTheirDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL)
	w.emit("order.1")
	_, err := w.DeleteDestination(w.ctx(), &orchv1.DeleteDestinationRequest{Id: d.GetId()})
	require.NoError(t, err)
	w.emit("order.2") // The matcher still knows the destination.
	require.NoError(t, w.DeleteDeliveries(t.Context(), []store.Effect{w.Store.ResourceEffect(KindDeleteDeliveries, w.ws, uuid.MustParse(d.GetId()))}))
	n, err := w.deliveries.Count(t.Context(), w.ws, store.Query{})
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = w.ReadDestination(w.ctx(), &orchv1.ReadDestinationRequest{Id: d.GetId()})
	require.Equal(t, int32(http.StatusNotFound), rpc.HTTPError(err).GetStatus())
}

// TestTheUsageOfAQueueHasTheDeliveriesOfAllWriters: a writer that changes the destination after another one keeps what that one added.
func TestTheUsageOfAQueueHasTheDeliveriesOfAllWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.MustParse(w.create(newReceiver(t, nil).URL, func(c *orchv1.DestinationCreate) { c.Enabled = false }).GetId())
	one := func() []*orchv1.DestinationDelivery {
		return []*orchv1.DestinationDelivery{{Id: uuid.NewString(), Event: "order.paid", Body: "1"}}
	}
	_, err := w.enqueue(t.Context(), w.ws, id, one(), noEffects)
	require.NoError(t, err)
	var other sync.Once
	_, err = w.enqueue(t.Context(), w.ws, id, one(), func(*orchv1.Destination, int) ([]store.Effect, error) {
		var err error
		other.Do(func() { _, err = w.enqueue(t.Context(), w.ws, id, one(), noEffects) })
		return nil, err
	})
	require.NoError(t, err)
	d, err := w.destinations.Get(t.Context(), w.ws, id)
	require.NoError(t, err)
	require.EqualValues(t, 3, d.GetUsage().GetCount())
	require.EqualValues(t, 3, d.GetUsage().GetBytes())
}

// TestDestinationsOfBlocksLeaveWithTheirDeliveries: an enabled destination of a block without deliveries is deleted, and no other one.
func TestDestinationsOfBlocksLeaveWithTheirDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct{ delivery, disabled, leaves bool }{
		"no delivery":           {leaves: true},
		"a delivery":            {delivery: true},
		"disabled, no delivery": {disabled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := uuid.New()
			require.NoError(t, w.createForBlock(t.Context(), w.ws, &orchv1.Destination{Id: id.String(), Name: name, BlockDocumentId: proto.String(id.String())}))
			if c.delivery {
				_, err := w.enqueue(t.Context(), w.ws, id, []*orchv1.DestinationDelivery{{Id: uuid.NewString(), Event: "order.paid"}}, noEffects)
				require.NoError(t, err)
			}
			d, err := w.destinations.Get(t.Context(), w.ws, id)
			require.NoError(t, err)
			d.Enabled = !c.disabled
			require.NoError(t, w.removeUnused(t.Context(), w.ws, id, d))
			_, err = w.destinations.Get(t.Context(), w.ws, id)
			if c.leaves {
				require.ErrorIs(t, err, store.ErrNotFound)
				return
			}
			require.NoError(t, err)
		})
	}
}

// A queue without room refuses the newest deliveries, and says so once.
func TestAFullQueueRefusesDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL, func(c *orchv1.DestinationCreate) { c.Enabled = false })
	w.emit("order.1")
	subscribed, err := w.matcher.load(t.Context(), w.ws)
	require.NoError(t, err)
	taking, _, err := subscribed.index.Takers(&orchv1.ReceivedEvent{Event: "order.paid"})
	require.NoError(t, err)
	to := taking[0]
	id := to.id
	read := func() *orchv1.DestinationUsage {
		stored, err := w.destinations.Get(t.Context(), w.ws, id)
		require.NoError(t, err)
		return stored.GetUsage()
	}
	require.EqualValues(t, 1, read().GetCount())
	require.Positive(t, read().GetBytes())
	set := func(used *orchv1.DestinationUsage) {
		_, err := w.edit(t.Context(), w.ws, id, func(next *orchv1.Destination) ([]store.Effect, error) {
			used.Measured = noon.UnixMicro()
			next.Usage = used
			return nil, nil
		})
		require.NoError(t, err)
	}
	set(&orchv1.DestinationUsage{Bytes: maxQueuedBytes - 4096})
	queued := func(resources ...string) int {
		before := len(w.log(d))
		w.emit(resources...)
		return len(w.log(d)) - before
	}
	testkit.FillBound(t, "deliveries of a destination that wait", maxQueuedBytes, func() bool { return queued("order.2") == 0 },
		func() int { return int(read().GetBytes()) })
	set(&orchv1.DestinationUsage{Count: maxQueued - 1})
	require.Equal(t, 1, queued("order.3", "order.4"))
	require.Equal(t, []string{"orch.destination.created", "orch-cloud.destination.created", "orch.destination.queue-full"}, w.published(query.Destination, d.GetId()))
	w.clock.Advance(measureAgain)
	before := len(w.log(d))
	w.emit("order.4")
	require.Len(t, w.log(d), before+1, "the queue was measured again")
}

// A session reads deliveries up to its bound, and at least one.
func TestASessionReadsBytesWithinABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL)
	size := 0
	testkit.FillBound(t, "deliveries of a destination that a session reads", pageBytes, func() bool {
		require.NoError(t, w.queue(w.ws, []broker.Event{w.event("order.paid", strings.Repeat("x", 40<<10))}))
		page, err := w.due(t.Context(), w.ws, uuid.MustParse(d.GetId()))
		require.NoError(t, err)
		size = 0
		for _, one := range page {
			size += proto.Size(one)
		}
		return len(page) < len(w.log(d))
	}, func() int { return size })
	w.pass()
	for _, one := range w.log(d) {
		require.Equal(t, delivered, one.GetState())
	}
}

// Finished deliveries go after their retention; those that wait stay.
func TestFinishedDeliveriesExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	d := w.create(r.URL)
	w.emit("order.1")
	w.pass()
	w.update(d, &orchv1.DestinationUpdate{Enabled: false}, "enabled")
	w.emit("order.2")
	w.clock.Advance(w.Retention + time.Hour)
	w.pass()
	log := w.log(d)
	require.Len(t, log, 1)
	require.Equal(t, pending, log[0].GetState())
}

// A rate spaces the requests.
func TestARateSpacesRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	w.create(r.URL, func(c *orchv1.DestinationCreate) { c.RateLimit = proto.Int64(100) })
	w.emit(resources(50, 50)...)
	began := time.Now()
	w.pass()
	require.Len(t, r.all(), 50)
	require.GreaterOrEqual(t, time.Since(began), 49*10*time.Millisecond-catchUp)
}

// A destination does not receive the events about itself.
func TestADestinationReceivesNoEventsAboutItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL, func(c *orchv1.DestinationCreate) { c.Subscriptions[0].Events = []string{"*"} })
	own := w.event("orch.destination.failing", "orch.destination."+d.GetId())
	other := w.event("orch.destination.failing", "orch.destination."+uuid.NewString())
	require.NoError(t, w.queue(w.ws, append(w.emit(), own, other)))
	log := w.log(d)
	require.Len(t, log, 1)
	require.Equal(t, other.ID.String(), log[0].GetEventId())
}

// Destinations that receive the failures of each other do not cause events without end.
func TestAFailureToReportAFailureIsNotReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL, func(c *orchv1.DestinationCreate) {
		c.Subscriptions[0].Events, c.Subscriptions[0].Template = []string{"*"}, proto.String("{{ 1 // 0 }}")
	})
	report := w.event("orch.destination.delivery-failed", "orch.destination."+uuid.NewString())
	require.NoError(t, w.queue(w.ws, append(w.emit(), w.event("order.paid", "order.1"), report)))
	w.pass()
	caused := map[string][]string{}
	for _, one := range w.log(d) {
		require.Equal(t, failed, one.GetState())
		caused[one.GetEvent()] = w.published(query.DestinationDelivery, one.GetId())
	}
	require.Equal(t, map[string][]string{
		"order.paid": {"orch.destination.delivery-failed"}, "orch.destination.delivery-failed": nil,
	}, caused)
}

// A change is known to the matcher from its event on.
func TestTheMatcherFollowsChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.emit("order.1")
	d := w.create(newReceiver(t, nil).URL)
	for _, e := range []string{"orch.destination.created", "order.paid"} {
		require.NoError(t, w.queue(w.ws, append(w.emit(), w.event(e, "any"))))
	}
	require.Len(t, w.log(d), 1)
}

// Settings that could not be used are refused, each at its place.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for field, change := range map[string]func(*orchv1.DestinationCreate){
		"url": func(c *orchv1.DestinationCreate) { c.Url = "ftp://example.com" },
		"subscriptions": func(c *orchv1.DestinationCreate) {
			c.Subscriptions[0].Events = slices.Repeat([]string{strings.Repeat("a", maxPattern)}, maxPatternLengths/maxPattern+1)
		},
		"":                         func(c *orchv1.DestinationCreate) { c.Description = strings.Repeat("a", maxDestination) },
		"headers.Host":             func(c *orchv1.DestinationCreate) { c.Headers = map[string]string{"Host": "a"} },
		"headers.webhook-id":       func(c *orchv1.DestinationCreate) { c.Headers = map[string]string{"webhook-id": "a"} },
		"headers.X":                func(c *orchv1.DestinationCreate) { c.Headers = map[string]string{"X": "a\r\nb"} },
		"headers.a b":              func(c *orchv1.DestinationCreate) { c.Headers = map[string]string{"a b": "c"} },
		"secret":                   func(c *orchv1.DestinationCreate) { c.Secret = proto.String("topsecret") },
		"subscriptions.0.filter":   func(c *orchv1.DestinationCreate) { c.Subscriptions[0].Filter = proto.String("a ==") },
		"subscriptions.0.template": func(c *orchv1.DestinationCreate) { c.Subscriptions[0].Template = proto.String("{{ a") },
		"subscriptions.0.events.0": func(c *orchv1.DestinationCreate) { c.Subscriptions[0].Events = []string{""} },
		"ordered_by.0":             func(c *orchv1.DestinationCreate) { c.OrderedBy = []string{""} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			create := &orchv1.DestinationCreate{Name: field, Url: "https://example.com", Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"a"}}}}
			change(create)
			_, err := w.CreateDestination(w.ctx(), &orchv1.CreateDestinationRequest{Destination: create})
			fields := rpc.HTTPError(err).GetFieldErrors().GetErrors()
			require.Len(t, fields, 1)
			var loc []string
			for _, part := range fields[0].GetLoc()[1:] {
				loc = append(loc, part.GetKey())
			}
			require.Equal(t, field, strings.Join(loc, "."))
			require.NotContains(t, prototext.Format(fields[0]), "topsecret")
		})
	}
	d := w.create("https://example.com")
	_, err := w.CreateDestination(w.ctx(), &orchv1.CreateDestinationRequest{Destination: &orchv1.DestinationCreate{Name: d.GetName(), Url: "https://example.com"}})
	require.Equal(t, int32(http.StatusConflict), rpc.HTTPError(err).GetStatus())
}

// An editor who does not know the headers of a destination cannot have them sent to another address.
func TestAnotherAddressNeedsTheHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	headers := map[string]string{"X-Key": "secret"}
	for name, c := range map[string]struct {
		stored  map[string]string
		update  *orchv1.DestinationUpdate
		fields  []string
		refused bool
	}{
		"another address":              {headers, &orchv1.DestinationUpdate{Url: "https://other.example.com/a"}, []string{"url"}, true},
		"another path":                 {headers, &orchv1.DestinationUpdate{Url: "https://example.com/b"}, []string{"url"}, true},
		"a masked path":                {nil, &orchv1.DestinationUpdate{Url: "https://example.com" + maskedPath}, []string{"url"}, true},
		"another address with headers": {headers, &orchv1.DestinationUpdate{Url: "https://other.example.com/a", Headers: headers}, []string{"headers", "url"}, false},
		"another address without any":  {nil, &orchv1.DestinationUpdate{Url: "https://other.example.com/a"}, []string{"url"}, false},
		"the same address":             {headers, &orchv1.DestinationUpdate{Url: "https://example.com/a"}, []string{"url"}, false},
		"another setting":              {headers, &orchv1.DestinationUpdate{Description: "b"}, []string{"description"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := w.create("https://example.com/a", func(create *orchv1.DestinationCreate) { create.Headers = c.stored })
			_, err := w.UpdateDestination(w.ctx(), &orchv1.UpdateDestinationRequest{
				Id: d.GetId(), Destination: c.update, UpdateMask: &fieldmaskpb.FieldMask{Paths: c.fields},
			})
			if !c.refused {
				require.NoError(t, err)
				return
			}
			fields := rpc.HTTPError(err).GetFieldErrors().GetErrors()
			require.Len(t, fields, 1)
			require.Equal(t, "url", fields[0].GetLoc()[1].GetKey())
		})
	}
}

// A destination whose document this version cannot read takes no delivery, and the others do.
func TestAFailingDestinationDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	receiver := newReceiver(t, nil)
	var all []*orchv1.Destination
	for range 4 {
		all = append(all, w.create(receiver.URL))
	}
	w.emit("order.1")
	damaged := all[0]
	filter := bson.D{idIs(uuid.MustParse(damaged.GetId()))}
	require.NoError(t, w.Store.UpdateMany(t.Context(), query.Destination, w.ws, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "url", Value: int64(5)}, {Key: "revision", Value: int64(99)}}}}))
	w.emit("order.2")
	for _, d := range all[1:] {
		require.Len(t, w.log(d), 2)
	}
}

// Secrets that another key encrypted are encrypted with the first one.
func TestSecretsAreEncryptedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create("https://example.com", func(c *orchv1.DestinationCreate) {
		c.Secret, c.Headers = proto.String(signing), map[string]string{"X-Tenant": "a"}
	})
	rotated := newWorld(t).Secrets.With(w.Secrets)
	other := newWorldOn(t, w.Store, w.clock, rotated)
	pass := func(write bool) (changed int) {
		require.NoError(t, other.Reencrypt(t.Context(), write, func(c bool, err error) error {
			if c {
				changed++
			}
			return errors.Join(err)
		}))
		return changed
	}
	require.Equal(t, 1, pass(false))
	require.Equal(t, 1, pass(true))
	require.Equal(t, 0, pass(true))
	stored, err := w.destinations.Get(t.Context(), w.ws, uuid.MustParse(d.GetId()))
	require.NoError(t, err)
	secret, err := other.secret(w.ws, stored)
	require.NoError(t, err)
	require.Equal(t, signing, secret)
	_, err = w.secret(w.ws, stored)
	require.Error(t, err)
}

// The oldest finished deliveries are deleted when all have more bytes than the bound.
func TestFinishedDeliveriesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL)
	id := uuid.MustParse(d.GetId())
	finished := append(deliveriesOf(id), bson.E{Key: "finished", Value: bson.D{{Key: "$gt", Value: int64(0)}}})
	inserted, kept := 0, usage{}
	testkit.FillBound(t, "finished deliveries of a destination", keptBytes, func() bool {
		at := timestamppb.New(noon.Add(time.Duration(inserted) * time.Millisecond))
		require.NoError(t, w.deliveries.Insert(t.Context(), w.ws, &orchv1.DestinationDelivery{
			Id: w.Store.NewID().String(), DestinationId: d.GetId(), EventId: uuid.NewString(), Queued: at, Finished: at,
			State: delivered, FinishedBytes: proto.Int64(64 << 20),
		}))
		inserted++
		require.NoError(t, w.tidy(t.Context(), w.ws, id))
		var err error
		kept, err = w.measure(t.Context(), w.ws, finished, "finished_bytes")
		require.NoError(t, err)
		return int(kept.count) < inserted
	}, func() int { return int(kept.bytes) })
	newest, err := w.deliveries.Find(t.Context(), w.ws, store.Query{Filter: finished, Sort: bson.D{{Key: "finished", Value: -1}}, Limit: 1})
	require.NoError(t, err)
	require.True(t, newest[0].GetFinished().AsTime().Equal(noon.Add(time.Duration(inserted-1)*time.Millisecond)), "the newest delivery stays")
}

// A delivery that the database refuses becomes a dead letter; the others of its batch are stored.
func TestARefusedDeliveryIsADeadLetter(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(noon)
	ring, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	db := storetest.Connect(t, database, c)
	require.NoError(t, db.EnsureIndexes(t.Context(), query.Indexes()))
	w := newWorldOn(t, db, c, ring)
	d := w.create(newReceiver(t, nil).URL)
	_, err = database.Connect().Collection(string(query.DestinationDelivery)).Indexes().CreateOne(t.Context(), mongo.IndexModel{
		Keys: bson.D{{Key: "source.related", Value: 1}, {Key: "source.resource_ids", Value: 1}}, // Two lists have no key.
	})
	require.NoError(t, err)
	subscribed, err := w.matcher.load(t.Context(), w.ws)
	require.NoError(t, err)
	to := subscribed.all[uuid.MustParse(d.GetId())]
	var deliveries []*orchv1.DestinationDelivery
	for _, ids := range [][]string{nil, {"a", "b"}, nil} {
		event := &orchv1.ReceivedEvent{Id: uuid.NewString(), Event: "order.paid", ResourceIds: ids}
		for range ids {
			event.Related = append(event.Related, &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": "a"}})
		}
		deliveries = append(deliveries, w.matcher.delivery(to, event))
	}
	require.NoError(t, w.matcher.store(t.Context(), w.ws, to, deliveries))
	require.Len(t, w.log(d), 2)
	letters, err := w.Store.DeadLetters(t.Context(), w.ws, uuid.Nil, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, KindQueue, letters[0].Kind)
	require.Equal(t, d.GetId(), letters[0].Document.String())
	require.NotEmpty(t, letters[0].Reason)
}
