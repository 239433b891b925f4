package hooks

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
)

func TestThrottle(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Unix(0, 0))
	th := newThrottle(now)
	require.True(t, th.allow("a"))
	require.False(t, th.allow("a"))
	require.True(t, th.allow("b"), "each webhook for itself")
	now.Advance(throttleInterval)
	require.True(t, th.allow("a"))
	for i := range 2 * maxThrottled {
		th.allow(strconv.Itoa(i))
	}
	require.LessOrEqual(t, len(th.last), maxThrottled)
	now.Advance(throttleInterval)
	require.True(t, th.allow("c"), "room is made")
}
