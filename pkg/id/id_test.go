package id_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The layout of RFC 9562, with known time and randomness.
func TestLayout(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(0x0123456789ab).Add(500 * time.Microsecond)
	s := id.New(clock.NewManual(at), bytes.NewReader([]byte("\xff\xee\xdd\xcc\xbb\xaa\x99\x88")))
	u := s.New()
	require.Equal(t, "01234567-89ab-7800-bfee-ddccbbaa9988", u.String())
	require.Equal(t, uuid.Version(7), u.Version())
	require.Equal(t, uuid.RFC4122, u.Variant())
	made, ok := id.Time(u)
	require.True(t, ok)
	require.Equal(t, time.UnixMilli(0x0123456789ab).UTC(), made)
	require.PanicsWithValue(t, "id: reading randomness: EOF", func() { s.New() })
}

// UUIDs increase even when the clock steps back.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := clock.NewManual(time.UnixMilli(1_700_000_000_000))
		s := id.New(c, zeros{})
		last := s.New()
		for _, step := range rapid.SliceOf(rapid.Int64Range(-5e6, 5e6)).Draw(t, "steps") {
			c.Advance(time.Duration(step))
			next := s.New()
			require.Less(t, last.String(), next.String())
			require.Equal(t, uuid.Version(7), next.Version())
			require.Equal(t, uuid.RFC4122, next.Variant())
			last = next
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := id.System()
	var wg sync.WaitGroup
	var all sync.Map
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if _, dup := all.LoadOrStore(s.New(), true); dup {
					t.Error("a UUID was made twice")
				}
			}
		})
	}
	wg.Wait()
}

func TestTimeOfOthers(t *testing.T) {
	t.Parallel()
	for _, u := range []uuid.UUID{uuid.Nil, uuid.Max, uuid.New()} {
		_, ok := id.Time(u)
		require.False(t, ok)
	}
}
