package concurrency

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// formula is a rate limit as the reference counts it: max(0, active - floor(decay × seconds since the last grant)).
type formula struct {
	limit  int64
	decay  float64
	active int64
	at     time.Time
}

func (f *formula) grant(slots int64, now time.Time) bool {
	active := max(0, f.active-int64(math.Floor(f.decay*now.Sub(f.at).Seconds())))
	if active+slots > f.limit {
		return false
	}
	f.active, f.at = active+slots, now
	return true
}

// Requests at random times over a minute are granted as the formula grants them: within two percent.
func TestRateLimitsFollowTheFormula(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit int64
		decay float64
		pause time.Duration // Between requests, at most.
	}{
		{10, 2.5, 200 * time.Millisecond},
		{1, 1, 100 * time.Millisecond},
		{50, 20, 80 * time.Millisecond},
		{5, 0.1, 2 * time.Second},
	} {
		t.Run(fmt.Sprint(c.limit), func(t *testing.T) {
			services, now := replicas(t, 1)
			s := services[0]
			created := s.newLimit(t, "rate", c.limit)
			_, err := s.mutate(t.Context(), ws, created.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
				limit.SlotDecayPerSecond = c.decay
				return true, nil
			})
			require.NoError(t, err)
			model := &formula{limit: c.limit, decay: c.decay, at: noon}
			random := rand.New(rand.NewPCG(3, uint64(c.limit)))
			var granted, expected int64
			for end := noon.Add(time.Minute); now.Now().Before(end); now.Advance(time.Duration(1 + random.Int64N(int64(c.pause)))) {
				slots := 1 + random.Int64N(min(3, c.limit))
				_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"rate"}, Slots: slots, Rate: true})
				var full *FullError
				if err != nil && !errors.As(err, &full) && !errors.Is(err, store.ErrContention) {
					require.NoError(t, err)
				}
				if err == nil {
					granted += slots
				}
				if model.grant(slots, now.Now()) {
					expected += slots
				}
			}
			t.Logf("limit %d, decay %g: granted %d, expected %d", c.limit, c.decay, granted, expected)
			require.InEpsilon(t, expected, granted, 0.02)
		})
	}
}
