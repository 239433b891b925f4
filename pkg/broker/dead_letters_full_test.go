package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

var errInvalid = errors.New("it is not valid")

// fillDeadLetters writes dead letters of a workspace until some were dropped.
func fillDeadLetters(t *testing.T, c *Conn, ws uuid.UUID, size int) {
	t.Helper()
	for before := c.deadLettersDropped.Load(); c.deadLettersDropped.Load() == before; {
		e := testEvent()
		e.Workspace, e.Data = ws, append(append([]byte{'"'}, bytes.Repeat([]byte("x"), size)...), '"')
		require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &e, 1, errInvalid))
	}
}

// Rejected events of one workspace fill the dead letters. The good events of the others are handled, although more frames wait than a
// consumer may leave unacknowledged.
func TestFullDeadLettersDoNotStopAConsumer(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), DeadLetterBytes: 64 << 10})
	const frames = maxAckPending + 500
	tenant := uuid.New()
	good := map[uuid.UUID]bool{}
	publishFrames(t, c, frames, func(i int) []Event {
		e := testEvent()
		e.Workspace, e.Type = tenant, "bad"
		if i%100 > 0 {
			return []Event{e}
		}
		other := testEvent()
		good[other.ID] = true
		return []Event{e, other}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, c.Consume(ctx, DurablePersist, ConsumeOptions{}, func(_ context.Context, batch []Event) error {
		rejected := &Rejected{}
		for _, e := range batch {
			if e.Type == "bad" {
				rejected.Reject(e.Key(), errInvalid)
			}
			if delete(good, e.ID); len(good) == 0 {
				cancel() // Every good event is handled.
			}
		}
		return rejected.Err()
	}))
	require.Empty(t, good)
	require.NotZero(t, c.deadLettersDropped.Load())
}

// publishFrames publishes frames of their own.
func publishFrames(t *testing.T, c *Conn, n int, events func(i int) []Event) {
	t.Helper()
	js, err := jetstream.New(c.nc, jetstream.WithPublishAsyncMaxPending(n))
	require.NoError(t, err)
	for i := range n {
		all := events(i)
		w := &waiter{events: len(all)}
		for j := range all {
			if j > 0 {
				w.body = append(w.body, ',')
			}
			w.body = appendEvent(w.body, &all[j])
		}
		_, err := js.PublishMsgAsync(&nats.Msg{
			Subject: eventSubject(0), Data: appendFrame(nil, []*waiter{w}), Header: nats.Header{headerContentType: {contentTypeBatch}},
		})
		require.NoError(t, err)
	}
	<-js.PublishAsyncComplete()
	require.EqualValues(t, n, storedFrames(t, c))
}

// The workspace with the most bytes of dead letters makes room, whichever workspace writes. The letters of other workspaces stay.
func TestAWorkspaceMakesRoomForItsOwnDeadLetters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 1000, 20_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), DeadLetterBytes: 128 << 10})
			var kept []Event
			for range 3 {
				e := testEvent()
				kept = append(kept, e)
				require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &e, 1, errInvalid))
			}
			greedy := uuid.New()
			for range 3 {
				fillDeadLetters(t, c, greedy, size)
			}
			late := testEvent()
			require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &late, 1, errInvalid))
			found := map[uuid.UUID]bool{}
			letters, err := c.DeadLetters(t.Context(), "", 0, 10_000)
			require.NoError(t, err)
			for _, l := range letters {
				found[l.Event.ID] = true
			}
			for _, e := range append(kept, late) {
				require.True(t, found[e.ID])
			}
		})
	}
}

func TestADeadLetterThatNeverFitsIsDropped(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), DeadLetterBytes: 16 << 10})
	e := testEvent()
	e.Data = append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 32<<10)...), '"')
	require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &e, 1, errInvalid))
	require.EqualValues(t, 1, c.deadLettersDropped.Load())
}

// The window of deduplication of the stream is shorter than a redelivery may take.
func TestADeadLetterIsWrittenOnceForever(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	stream, err := c.js.Stream(t.Context(), StreamDeadLetters)
	require.NoError(t, err)
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	_, err = c.js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	e := testEvent()
	require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &e, 7, errInvalid))
	<-time.After(2 * cfg.Duplicates)
	require.NoError(t, c.DeadLetterEvent(t.Context(), DurablePersist, &e, 7, errors.New("another reason")))
	letters, err := c.DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
}
