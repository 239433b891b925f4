package concurrency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func limitOf(edits ...func(*orchv1.ConcurrencyLimitV2)) *orchv1.ConcurrencyLimitV2 {
	l := &orchv1.ConcurrencyLimitV2{Name: "a", Active: true, Limit: 2}
	begin(l, noon)
	for _, edit := range edits {
		edit(l)
	}
	return l
}

func TestSlotsComeBackByDecay(t *testing.T) {
	t.Parallel()
	l := limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.SlotDecayPerSecond = 0.5; setActive(l, 3, noon) })
	for after, want := range map[time.Duration]int64{
		0: 3, time.Second: 3, 2 * time.Second: 2, 5 * time.Second: 1, 6 * time.Second: 0, time.Hour: 0, -time.Hour: 3,
	} {
		require.Equal(t, want, active(l, noon.Add(after)), after)
	}
	l.SlotDecayPerSecond = 0
	require.Equal(t, int64(3), active(l, noon.Add(time.Hour)))
}

func TestDeniedSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	l := limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.DeniedSlots = 4 })
	require.Equal(t, int64(4), denied(l, noon.Add(time.Second)))
	require.Equal(t, int64(3), denied(l, noon.Add(2*time.Second)), "one in the time that a slot is held")
	l.SlotDecayPerSecond = 2
	require.Equal(t, int64(2), denied(l, noon.Add(time.Second)))
}

func TestOccupancyIsFoldedInto(t *testing.T) {
	t.Parallel()
	l := limitOf()
	fold(l, 6, 1)
	require.InDelta(t, 2+(6-2)/4.0, l.GetAvgSlotOccupancySeconds(), 1e-9)
	l = limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.Limit = 1 })
	fold(l, 0, 1)
	require.InDelta(t, (2+0.1)/2, l.GetAvgSlotOccupancySeconds(), 1e-9)
}

func TestWait(t *testing.T) {
	t.Parallel()
	const middle = 0.5
	factor := jitter(1, middle)
	waiting := func(slots int64) func(*orchv1.ConcurrencyLimitV2) {
		return func(l *orchv1.ConcurrencyLimitV2) {
			for range slots {
				addWaiter(l, slotRequest{slots: 1}.refused(nil, noon.Add(-time.Second), noon, time.Minute, false))
			}
		}
	}
	for name, c := range map[string]struct {
		limits []*orchv1.ConcurrencyLimitV2
		slots  int64
		want   float64
	}{
		"the first: an eighth of 1 s per slot": {[]*orchv1.ConcurrencyLimitV2{limitOf()}, 1, 0.125},
		"3 ahead: half of their 3 s":           {[]*orchv1.ConcurrencyLimitV2{limitOf(waiting(3))}, 2, 1.5 + 0.25},
		"50 ms at least":                       {[]*orchv1.ConcurrencyLimitV2{limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.Limit = 1000 })}, 1, 0.05},
		"an occupancy of 30 s at most":         {[]*orchv1.ConcurrencyLimitV2{limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.AvgSlotOccupancySeconds = 1e6 })}, 1, 15.0 / 8},
		"30 s at most":                         {[]*orchv1.ConcurrencyLimitV2{limitOf(waiting(100), func(l *orchv1.ConcurrencyLimitV2) { l.Limit, l.Name = 1, "b"; l.AvgSlotOccupancySeconds = 1e6 })}, 1, 30},
		"200 s of a decay":                     {[]*orchv1.ConcurrencyLimitV2{limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.SlotDecayPerSecond = 0.01 })}, 2, 200},
		"the longest of two":                   {[]*orchv1.ConcurrencyLimitV2{limitOf(), limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.Limit = 1 })}, 1, 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, c.want*factor, wait(c.limits, slotRequest{slots: c.slots}, noon, time.Hour, middle), 1e-9, name)
		})
	}
}

// A client that has not waited long returns soon, however many are before it.
func TestWaitGrowsWithTheTimeWaited(t *testing.T) {
	t.Parallel()
	l := limitOf()
	for range 100 {
		addWaiter(l, slotRequest{slots: 1}.refused(nil, noon.Add(-time.Second), noon, time.Minute, false))
	}
	for waited, want := range map[time.Duration]float64{0: 0.25, 3 * time.Second: 1, time.Hour: 30} {
		require.InDelta(t, want*jitter(1, 0.5), wait([]*orchv1.ConcurrencyLimitV2{l}, slotRequest{slots: 1}, noon, waited, 0.5), 1e-9, waited)
	}
}

func TestJitterStaysNearTheAverage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		average := rapid.Float64Range(0, 1e6).Draw(t, "average")
		drawn := jitter(average, rapid.Float64Range(0, 0.999999).Draw(t, "chance"))
		require.GreaterOrEqual(t, drawn, 0.7*average)
		require.LessOrEqual(t, drawn, 1.3*average*(1+1e-9))
	})
}
