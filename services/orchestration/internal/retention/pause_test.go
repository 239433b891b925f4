package retention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauseAfterABatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took time.Duration
		rate int
		want time.Duration
	}{
		"a fifth of the time":               {10 * time.Millisecond, 0, 40 * time.Millisecond},
		"an outlier":                        {time.Minute, 0, maxPause},
		"a rate that allows more":           {10 * time.Millisecond, 5000, 40 * time.Millisecond},
		"a rate that allows less":           {10 * time.Millisecond, 500, 190 * time.Millisecond},
		"a rate beyond the longest pause":   {10 * time.Millisecond, 10, 9990 * time.Millisecond},
		"a batch slower than the rate asks": {time.Minute, 500, maxPause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, pause(100, c.took, c.rate))
		})
	}
}
