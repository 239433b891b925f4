//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const (
	// outboundKeys is the number of keys whose deliveries keep their order.
	outboundKeys = 20
	// outboundHours is the time for which the receiver is down. The clocks of the processes step through it hour by hour.
	outboundHours = 24
	// rateTolerance bounds the difference between the rate of deliveries and the set one.
	rateTolerance = 0.05
	// inFlight is the number of requests to a destination that are in flight at most.
	inFlight = 8
)

// outboundSettings are the events and the rate of TestOutbound, by the environment. Without them the test is skipped: it takes minutes, and a
// busy machine misses the rate.
func outboundSettings(t *testing.T) (events, rate int) {
	t.Helper()
	read := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		require.NoError(t, err, name)
		return n
	}
	if os.Getenv("ORCH_TEST_OUTBOUND_EVENTS") == "" {
		t.Skip("ORCH_TEST_OUTBOUND_EVENTS is not set; make e2e-outbound sets it")
	}
	return read("ORCH_TEST_OUTBOUND_EVENTS"), read("ORCH_TEST_OUTBOUND_RATE")
}

// outlet is a receiver that can be down. It records what it accepts.
type outlet struct {
	mu       sync.Mutex
	down     bool
	refused  int
	accepted []time.Time
	// last is the number of the newest delivery of each key, and ids the webhook-id of each delivery.
	last       map[string]int
	ids        map[string]string
	again      int
	violations []string
}

func newOutlet(t *testing.T, down bool) (*outlet, string) {
	t.Helper()
	o := &outlet{down: down, last: map[string]int{}, ids: map[string]string{}}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	return o, server.URL
}

func (o *outlet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		o.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	key, number, _ := strings.Cut(string(body), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		o.violations = append(o.violations, "body "+string(body))
	}
	id := r.Header.Get("Webhook-Id")
	switch before, again := o.ids[string(body)]; {
	case again && before == id:
		o.again++
	case again:
		o.violations = append(o.violations, fmt.Sprintf("%s has the ids %s and %s", body, before, id))
	case n != o.last[key]+1:
		o.violations = append(o.violations, fmt.Sprintf("%s follows %d", body, o.last[key]))
	}
	o.ids[string(body)], o.last[key] = id, max(n, o.last[key])
	o.accepted = append(o.accepted, time.Now())
}

func (o *outlet) set(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = down
}

// count is the number of different deliveries that were accepted.
func (o *outlet) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ids)
}

// reach waits until a number of different deliveries were accepted.
func (o *outlet) reach(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for o.count() < n {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d of %d deliveries arrived", o.count(), n)
		}
	}
}

// rate is the number of deliveries a second since a time, without the first and the last tenth of them.
func (o *outlet) rate(since time.Time) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(o.accepted), func(at time.Time) bool { return at.Before(since) })
	middle := all[len(all)/10 : len(all)*9/10]
	return float64(len(middle)-1) / middle[len(middle)-1].Sub(middle[0]).Seconds()
}

// outbound is a server with destinations.
type outbound struct {
	t      *testing.T
	server *Orch
	client *Client
	offset time.Duration
	// numbers are the newest numbers of the keys.
	numbers map[string]int
}

func (b *outbound) destination(ctx context.Context, name, address, event string, rate int) {
	b.t.Helper()
	body := map[string]any{
		"name": name, "url": address, "ordered_by": []string{"orch.resource.id"},
		"subscriptions": []any{map[string]any{"events": []string{event}, "template": "{{ event.resource.id }} {{ event.payload.n }}"}},
	}
	if rate > 0 {
		body["rate_limit"] = rate
	}
	status, err := b.client.post(ctx, b.server.API()+"/v2/destinations/", body, nil)
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusCreated, status)
}

// publish publishes the next events of keys.
func (b *outbound) publish(ctx context.Context, name string, n, keys int) {
	b.t.Helper()
	for n > 0 {
		batch := make([]any, 0, min(n, 500))
		for range cap(batch) {
			key := fmt.Sprintf("%s.%d", name, n%keys)
			b.numbers[key]++
			batch = append(batch, map[string]any{
				"id": uuid.NewString(), "event": name, "occurred": time.Now().Add(b.offset).UTC(),
				"resource": map[string]string{"orch.resource.id": key}, "payload": map[string]int{"n": b.numbers[key]},
			})
			n--
		}
		status, err := b.client.post(ctx, b.server.API()+"/events", batch, nil)
		require.NoError(b.t, err)
		require.Equal(b.t, http.StatusNoContent, status)
	}
}

// step steps the clocks of the processes by an offset to that of the machine.
func (b *outbound) step(offset time.Duration) {
	b.t.Helper()
	b.offset = offset
	for _, p := range b.server.Processes {
		err := p.StepClock(offset)
		if errors.Is(err, errors.ErrUnsupported) {
			b.t.Skip("clock steps need Linux on x86-64")
		}
		require.NoError(b.t, err)
	}
}

// delay is the median time from the publication of an event until another destination has it.
func (b *outbound) delay(ctx context.Context, other *outlet) time.Duration {
	const measured = 50
	took := make([]time.Duration, measured)
	for i := range took {
		want, began := other.count()+1, time.Now()
		b.publish(ctx, "other", 1, 1)
		other.reach(ctx, b.t, want)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[measured/2]
}

// TestOutbound queues events for a receiver that is down for a day. When it is back it gets all of them: in order for each key, at the set
// rate, although the processes are killed meanwhile; another destination is not slower.
func TestOutbound(t *testing.T) {
	events, rate := outboundSettings(t)
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute+4*time.Duration(events/rate)*time.Second)
			defer cancel()
			b := &outbound{
				t: t, server: form.start(t, "ORCH_AUTOMATIONS_ALLOWED_NETWORKS=127.0.0.1"), numbers: map[string]int{},
				client: &Client{HTTP: &http.Client{Timeout: 30 * time.Second}, Ledger: NewLedger()},
			}
			receiver, address := newOutlet(t, true)
			other, otherAddress := newOutlet(t, false)
			b.destination(ctx, "receiver", address, "order", rate)
			b.destination(ctx, "other", otherAddress, "other", 0)
			alone := b.delay(ctx, other)

			for hour := range outboundHours {
				b.publish(ctx, "order", events*(hour+1)/outboundHours-events*hour/outboundHours, outboundKeys)
				b.step(time.Duration(hour+1) * time.Hour)
			}
			receiver.mu.Lock()
			refused := receiver.refused
			receiver.mu.Unlock()

			receiver.set(false)
			b.step(outboundHours*time.Hour + 10*time.Minute) // The next probe is due.
			back := time.Now()
			receiver.reach(ctx, t, events/10)
			during := b.delay(ctx, other)
			receiver.reach(ctx, t, events/2)
			steady := receiver.rate(back)

			for _, p := range b.server.Processes {
				b.server.Restart(t, p)
			}
			b.step(b.offset)
			receiver.reach(ctx, t, events)
			took := time.Since(back)

			receiver.mu.Lock()
			defer receiver.mu.Unlock()
			t.Logf("%d events, %d attempts during the day; all delivered %s after the receiver was back, with one kill; %.0f a second, set are %d; "+
				"%d accepted again; another destination has an event after %s, before %s",
				events, refused, took.Round(time.Millisecond), steady, rate, receiver.again, during, alone)
			require.Empty(t, receiver.violations)
			require.LessOrEqual(t, receiver.again, inFlight*len(b.server.Processes))
			require.InEpsilon(t, float64(rate), steady, rateTolerance)
			require.LessOrEqual(t, during, max(2*alone, alone+250*time.Millisecond))
		})
	}
}
