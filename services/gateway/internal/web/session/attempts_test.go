package session_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// TestFailuresLockOutOneName: of those who share an address, failures for one name leave the other names free, and whoever signs in
// is not counted.
func TestFailuresLockOutOneName(t *testing.T) {
	t.Parallel()
	a := session.NewAttempts(clock.System{})
	proxy, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for range session.MaxAttempts {
		require.True(t, a.Allow(proxy, "ada"))
	}
	require.False(t, a.Allow(proxy, "ada"))
	require.True(t, a.Allow(other, "ada"), "another address")
	for range 3 * session.MaxAttempts {
		require.True(t, a.Allow(proxy, "bob"), "another name")
		a.Succeeded(proxy, "bob")
	}
}

// One client that makes up names refuses nobody else.
func TestMadeUpNamesLockOutNobody(t *testing.T) {
	t.Parallel()
	a := session.NewAttempts(clock.NewManual(time.Unix(0, 0)))
	for i := range 12_000 {
		require.True(t, a.Allow(netip.MustParseAddr("10.0.0.1"), strconv.Itoa(i)))
	}
	require.True(t, a.Allow(netip.MustParseAddr("10.0.0.2"), "ada"))
}
