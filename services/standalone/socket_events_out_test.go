package standalone_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

type eventMessage struct {
	Type  string
	Event struct {
		ID, Event string
		Resource  map[string]string
		Received  time.Time
	}
}

func (c *client) event() eventMessage {
	c.t.Helper()
	var m eventMessage
	require.NoError(c.t, json.Unmarshal([]byte(c.receive()), &m))
	require.Equal(c.t, "event", m.Type)
	return m
}

func (s *server) post1(body string) {
	s.t.Helper()
	require.Equal(s.t, http.StatusNoContent, s.ask(http.MethodPost, "/events", "["+body+"]", nil))
}

// awaitLive calls publish until a subscriber without a past receives an event, which it returns: such a subscription gives no other sign
// that it has begun.
func (s *server) awaitLive(c *client, publish func()) (first eventMessage) {
	s.t.Helper()
	done := make(chan eventMessage, 1)
	go func() { done <- c.event() }()
	require.Eventually(s.t, func() bool {
		publish()
		select {
		case first = <-done:
			return true
		default:
			return false
		}
	}, waitTimeout, tick)
	return first
}

func TestEventsOutRefusesBadFilters(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for first, reason := range map[string]string{
		`nonsense`:                                              "Expected 'filter' message",
		`{"type":"auth","token":null}`:                          "Expected 'filter' message",
		`{"type":"filter"}`:                                     "Invalid filter",
		`{"type":"filter","filter":[]}`:                         "Invalid filter: 1 validation error: ",
		`{"type":"filter","filter":{"no_such":1}}`:              "no_such",
		`{"type":"filter","filter":{"event":{"nme":["a"]}}}`:    "nme",
		`{"type":"filter","filter":{"occurred":{"since":"x"}}}`: "Invalid filter",
	} {
		c := s.open("/events/out")
		c.send(first)
		code, text := c.closed()
		require.Equal(t, websocket.StatusProtocolError, code, first)
		require.Contains(t, text, reason)
	}
	talker := s.open("/events/out")
	talker.send(`{"type":"filter","filter":{}}`)
	talker.send(`{"more":true}`)
	code, _ := talker.closed()
	require.Equal(t, websocket.StatusPolicyViolation, code)
}

// TestEventsOutShowsThePastOnlyWhenAsked, and only what the filter lets through, in either part.
func TestEventsOutShowsThePastOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	ids := map[string]string{}
	say := func(name string) {
		ids[name] = uuid.NewString()
		s.post1(event(ids[name], name))
	}
	say("a.past")
	say("b.past")
	s.post1(event(uuid.NewString(), "a.old", "occurred", `"2020-01-01T00:00:00Z"`))
	withPast, without := s.open("/events/out"), s.open("/events/out")
	withPast.send(`{"type":"filter","filter":{"event":{"prefix":["a."]}}}`)
	without.send(`{"type":"filter","filter":{"event":{"prefix":["a."]}},"backfill":false}`)
	require.Equal(t, ids["a.past"], withPast.event().Event.ID)
	first := s.awaitLive(without, func() {
		say("b.now")
		say("a.hello")
	})
	require.Equal(t, "a.hello", first.Event.Event)
	require.False(t, first.Event.Received.IsZero())
	say("a.last")
	for _, c := range []*client{withPast, without} {
		for {
			m := c.event()
			if m.Event.Event == "a.last" {
				require.Equal(t, ids["a.last"], m.Event.ID)
				break
			}
			require.Equal(t, "a.hello", m.Event.Event)
		}
	}
}

// TestEventsOutLosesAndDuplicatesNothing: while clients publish all the time, subscribers come at any moment, and each gets
// every event once: those of the past, those of the time of its coming, and those after.
func TestEventsOutLosesAndDuplicatesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	const publishers, each, subscribers = 3, 1500, 6
	var wg sync.WaitGroup
	var mu sync.Mutex
	sent := map[string]int{}
	started := make(chan struct{}, publishers*each)
	for range publishers {
		in := s.open("/events/in")
		wg.Go(func() {
			for i := range each {
				id := uuid.NewString()
				mu.Lock()
				sent[id] = 0
				mu.Unlock()
				in.send(event(id, "counted"))
				if i%50 == 49 {
					if in.barrier() != nil {
						t.Error("no pong")
					}
					in = s.open("/events/in") // A client that sends the last ones again, being unsure.
					in.send(event(id, "counted"))
				}
				started <- struct{}{}
			}
			if in.barrier() != nil {
				t.Error("no pong")
			}
		})
	}
	var outs []*client
	for range subscribers {
		for range publishers * each / (2 * subscribers) {
			<-started
		}
		c := s.open("/events/out")
		c.send(`{"type":"filter","filter":{"event":{"name":["counted"]}}}`)
		outs = append(outs, c)
	}
	results := make(chan map[string]int, subscribers)
	for _, c := range outs {
		go func() {
			got := map[string]int{}
			defer func() { results <- got }() // Whatever is missing.
			for len(got) < publishers*each {
				got[c.event().Event.ID]++
			}
		}()
	}
	wg.Wait()
	for range subscribers {
		got := <-results
		require.Len(t, got, len(sent))
		for id, n := range got {
			if _, ok := sent[id]; !ok || n != 1 {
				t.Fatalf("event %s came %d times, published: %t", id, n, ok)
			}
		}
	}
}

// TestSlowSubscribersAreClosed: a subscriber that does not read gets the reason, and others do not notice.
func TestSlowSubscribersAreClosed(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	slow, quick := s.open("/events/out"), s.open("/events/out")
	// Without the past: its subscribers may keep more.
	slow.send(`{"type":"filter","filter":{},"backfill":false}`)
	s.awaitLive(slow, func() { s.post1(event(uuid.NewString(), "hello")) })
	quick.send(`{"type":"filter","filter":{"event":{"name":["small"]}}}`)
	quick2 := make(chan struct{})
	go func() {
		defer close(quick2)
		for quick.event().Event.Event != "small" {
		}
	}()
	in := s.open("/events/in")
	// Large ones fill the buffers of the connection, small ones the queue behind it: a subscriber may be stuck no longer than
	// a write may wait, also on a slow machine.
	for range 900 {
		in.send(event(uuid.NewString(), "large", "payload", `{"a":"`+largeText+`"}`))
	}
	for range 4400 {
		in.send(event(uuid.NewString(), "tiny"))
	}
	in.send(event(uuid.NewString(), "small"))
	require.NoError(t, in.barrier())
	<-quick2
	code, reason := slow.closed()
	require.Equal(t, websocket.StatusTryAgainLater, code)
	require.Contains(t, reason, "slow")
}

// largeText makes events that the buffers of a connection hold few of. They need no processor of admission, which refuses work that waits
// long.
var largeText = strings.Repeat("x", 15_000)
