package broker

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// unconnected is a publisher that batches can be made for, and nothing can be sent with.
func unconnected(shards, maxRun int) *Publisher {
	return &Publisher{
		committers: make([]*committer, shards),
		maxRun:     maxRun,
		idle:       sync.Pool{New: newWaiter},
	}
}

// Each run of a batch fits into a frame and belongs to one shard. Each shard keeps the order of its events. A refused
// event leaves no trace.
func TestBatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const shards, maxRun = 3, 10
		b := unconnected(shards, maxRun).NewBatch()
		workspaces := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		var want [shards][]uuid.UUID
		added := 0
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			e := testEvent()
			e.Workspace = rapid.SampledFrom(workspaces).Draw(t, "workspace")
			size := rapid.SampledFrom([]int{1, 100, MaxFrameBytes / 4, MaxFrameBytes + 1, MaxEventBytes}).Draw(t, "size")
			e.Data = json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
			if rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
				e.Data = json.RawMessage(`"`)
				require.ErrorIs(t, b.Add(&e), ErrInvalidEvent)
				continue
			}
			if size == MaxEventBytes {
				require.ErrorIs(t, b.Add(&e), ErrTooLarge)
				continue
			}
			require.NoError(t, b.Add(&e))
			to := shard(e.Workspace, shards)
			want[to] = append(want[to], e.ID)
			added++
		}
		require.Equal(t, added, b.Len())
		var got [shards][]uuid.UUID
		for _, w := range b.waiters {
			frame := appendFrame(nil, []*waiter{w})
			events, err := decodeFrame(nil, frame)
			require.NoError(t, err)
			require.Len(t, events, w.events)
			require.LessOrEqual(t, w.events, maxRun)
			if w.events > 1 {
				require.LessOrEqual(t, len(frame), MaxFrameBytes)
			}
			for _, e := range events {
				require.Equal(t, w.shard, shard(e.Workspace, shards))
				got[w.shard] = append(got[w.shard], e.ID)
			}
		}
		require.Equal(t, want, got)
	})
}

// Events that are added together travel in one frame, or the batch stays as it was.
func TestEventsThatBelongTogetherShareAFrame(t *testing.T) {
	t.Parallel()
	together := func(n, size int) []Event {
		events := make([]Event, n)
		for i := range events {
			events[i] = testEvent()
			events[i].Workspace = uuid.Max
			events[i].Data = json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
		}
		return events
	}
	invalid, foreign := together(3, 1), together(3, 1)
	invalid[2].Data, foreign[2].Workspace = json.RawMessage(`"`), uuid.New()
	for name, c := range map[string]struct {
		events []Event
		want   error
	}{
		"one":                 {together(1, 1), nil},
		"a hundred":           {together(100, 1), nil},
		"more than a frame":   {together(10, MaxFrameBytes/5), nil},
		"more than one event": {together(100, MaxEventBytes/100), ErrTooLarge},
		"too many":            {together(MaxFrameEvents+1, 1), ErrInvalidEvent},
		"none":                {nil, ErrInvalidEvent},
		"an invalid one":      {invalid, ErrInvalidEvent},
		"two workspaces":      {foreign, ErrInvalidEvent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := unconnected(3, 10).NewBatch()
			before := testEvent()
			before.Workspace = uuid.Max
			require.NoError(t, b.Add(&before))
			runs, bytes := len(b.waiters), b.Bytes()
			require.ErrorIs(t, b.AddAll(c.events...), c.want)
			if c.want != nil {
				require.Equal(t, []int{runs, bytes, 1}, []int{len(b.waiters), b.Bytes(), b.Len()})
				return
			}
			require.Equal(t, 1+len(c.events), b.Len())
			last := b.waiters[len(b.waiters)-1]
			events, err := decodeFrame(nil, appendFrame(nil, []*waiter{last}))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(events), len(c.events))
		})
	}
}

// A batch that was published can be filled again, and the memory of its runs is used again.
func TestBatchIsUsedAgain(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	b := c.Publisher().NewBatch()
	for range 3 {
		want := testEvent()
		require.NoError(t, b.Add(&want))
		require.Positive(t, b.Bytes())
		require.NoError(t, c.Publisher().PublishBatch(t.Context(), b))
		require.Zero(t, b.Len())
		require.Zero(t, b.Bytes())
		require.Equal(t, want.ID, consumeOne(t, c).ID)
	}
}
