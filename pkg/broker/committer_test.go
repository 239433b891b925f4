package broker

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

func queued(sizes ...int) *committer {
	k := &committer{queue: make(chan *waiter, len(sizes)), closing: make(<-chan struct{})}
	for _, size := range sizes {
		k.queue <- &waiter{body: slices.Repeat([]byte("x"), size), events: 1, result: make(chan error, 1)}
		k.queuedBytes.Add(int64(size))
		k.queuedEvents.Add(1)
	}
	return k
}

// Frames have the waiting events, in their order, are never over the limits unless of one event, and never end early.
func TestFrameLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(1, 100),
			rapid.IntRange(1, 20_000),
			rapid.IntRange(MaxFrameBytes-10, MaxFrameBytes+10),
		), 1, 700).Draw(t, "sizes")
		k := queued(sizes...)
		closing := make(chan struct{})
		close(closing)
		k.closing = closing
		var frames [][]*waiter
		for first := k.next(); first != nil; first = k.next() {
			frames = append(frames, k.gather(nil, first))
		}
		var got []int
		for i, f := range frames {
			encoded := len(appendFrame(nil, f))
			require.LessOrEqual(t, len(f), MaxFrameEvents)
			if len(f) > 1 {
				require.LessOrEqual(t, encoded, MaxFrameBytes)
			}
			if i+1 < len(frames) && len(f) < MaxFrameEvents {
				require.Greater(t, encoded+len(",")+len(frames[i+1][0].body), MaxFrameBytes, "frame %d ended early", i)
			}
			for _, w := range f {
				got = append(got, len(w.body))
			}
		}
		require.Equal(t, sizes, got)
	})
}

// A lone event is not delayed: no time passes between its arrival and its frame.
func TestLoneEventIsNotDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := queued(10)
		start := time.Now()
		require.Len(t, k.gather(nil, k.next()), 1)
		require.Zero(t, time.Since(start))
	})
}

// An event whose publisher has gone is not sent, and its bytes are given back.
func TestAbandonedEventIsNotSent(t *testing.T) {
	t.Parallel()
	k := queued(1, 2, 3)
	first := k.next()
	gone := <-k.queue
	gone.abandoned.Store(true)
	last := <-k.queue
	k.queue <- gone
	k.queue <- last
	require.Equal(t, []*waiter{first, last}, k.gather(nil, first))
	require.EqualValues(t, 1+3, k.queuedBytes.Load())
	require.EqualValues(t, 2, k.queuedEvents.Load())
}

func connectTo(t *testing.T, cfg Config) *Conn {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func connectInProcess(t *testing.T) *Conn {
	t.Helper()
	return connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
}

func storedFrames(t *testing.T, c *Conn) uint64 {
	t.Helper()
	s, err := c.js.Stream(t.Context(), StreamEvents)
	require.NoError(t, err)
	return s.CachedInfo().State.Msgs
}

func testEvent() Event {
	return Event{ID: uuid.New(), Source: "/test", Type: "test", Workspace: uuid.New()}
}

// A frame whose acknowledgement was lost is sent again and stored once.
func TestRetriedFrameIsStoredOnce(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	direct := connectTo(t, Config{InProcess: n})
	proxy := testkit.StartChaos(t, n.Address())
	const ackTimeout = 3 * time.Second
	c := connectTo(t, Config{URL: "nats://" + proxy.Addr(), AckTimeout: ackTimeout})

	proxy.HalfOpen()
	published := make(chan error, 1)
	go func() { published <- c.Publisher().Publish(t.Context(), testEvent()) }()
	<-time.After(ackTimeout * 6 / 10) // The second attempt is on its way: both arrive now.
	proxy.Heal()
	require.NoError(t, <-published)
	require.EqualValues(t, 1, storedFrames(t, direct))

	k := c.publisher.committers[0]
	k.frame = appendFrame(nil, []*waiter{{body: appendEvent(nil, new(testEvent()))}})
	frame, header := k.encode()
	header.Set(jetstream.MsgIDHeader, "the same frame")
	for range 3 {
		_, err := k.attempt(t.Context(), frame, header)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, storedFrames(t, direct))
}

// A broker that is frozen, cut off or slow is answered for in time, and used again when it is back.
func TestPublishThroughChaos(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	proxy := testkit.StartChaos(t, n.Address())
	const ackTimeout = time.Second
	c := connectTo(t, Config{URL: "nats://" + proxy.Addr(), AckTimeout: ackTimeout})
	recovered := func() {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); c.Publisher().Publish(t.Context(), testEvent()) != nil; {
			require.True(t, time.Now().Before(deadline), "not usable again")
		}
	}
	for name, fieldError := range map[string]func(){
		"half-open": proxy.HalfOpen,
		"cut":       proxy.Cut,
		"slow":      func() { proxy.Delay(2 * ackTimeout) },
	} {
		recovered()
		fieldError()
		start := time.Now()
		require.ErrorIs(t, c.Publisher().Publish(t.Context(), testEvent()), ErrUnavailable, name)
		require.Less(t, time.Since(start), 3*ackTimeout, name)
		proxy.Heal()
	}
	recovered()
}

// A durable consumer that somebody deleted is put back.
func TestDeletedDurableIsRestored(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	require.NoError(t, c.js.DeleteConsumer(t.Context(), StreamEvents, DurablePersist))
	c.restoreDurables(t.Context())
	_, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
	require.NoError(t, err)
	require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	require.EqualValues(t, 1, storedFrames(t, c))
}

// An undecodable frame becomes one dead letter, and the frames behind it are handled.
func TestUndecodableFrame(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	_, err := c.js.Publish(t.Context(), subjectPrefix+"0", []byte("not a frame"))
	require.NoError(t, err)
	_, err = c.js.Publish(t.Context(), subjectPrefix+"0", []byte("[]"))
	require.NoError(t, err)
	want := testEvent()
	require.NoError(t, c.Publisher().Publish(t.Context(), want))
	require.Equal(t, want.ID, consumeOne(t, c).ID)

	letters, err := c.DeadLetters(t.Context(), DurablePersist, 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	stored, err := c.DeadLetter(t.Context(), letters[0].Seq)
	require.NoError(t, err)
	require.Equal(t, "not a frame", string(stored.Raw))
	require.NotEmpty(t, letters[0].Reason)
	require.NoError(t, c.RetryDeadLetter(t.Context(), letters[0].Seq)) // A newer version may understand it.
	require.NoError(t, c.Publisher().Publish(t.Context(), want))
	require.Equal(t, want.ID, consumeOne(t, c).ID)
	again, err := c.DeadLetters(t.Context(), DurablePersist, letters[0].Seq, 10)
	require.NoError(t, err)
	require.Len(t, again, 1)
	repeated, err := c.DeadLetter(t.Context(), again[0].Seq)
	require.NoError(t, err)
	require.Equal(t, stored.Raw, repeated.Raw)
}
