package clientaddr_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestClient(t *testing.T) {
	t.Parallel()
	trusted, err := clientaddr.ParseNetworks([]string{"10.0.0.0/8", " 127.0.0.1 ", "fd00::/8", "::ffff:192.168.0.0/112"})
	require.NoError(t, err)
	for _, c := range []struct {
		remote string
		header []string
		want   string
	}{
		{"203.0.113.7:1234", nil, "203.0.113.7"},
		{"203.0.113.7:1234", []string{"198.51.100.1"}, "203.0.113.7"}, // The header is not from a trusted proxy.
		{"10.1.2.3:80", nil, "10.1.2.3"},
		{"10.1.2.3:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.1.2.3:80", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"}, // The client forged the first address.
		{"10.1.2.3:80", []string{"1.1.1.1, 198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		{"10.1.2.3:80", []string{"1.1.1.1", "198.51.100.1", "10.9.9.9,"}, "198.51.100.1"},
		{"10.1.2.3:80", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{"10.1.2.3:80", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		{"10.1.2.3:80", []string{`"[2001:db8::1]"`}, "2001:db8::1"},
		{"10.1.2.3:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.1.2.3]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"[fd00::1%eth0]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"192.168.1.1:80", []string{"10.0.0.1, 127.0.0.1"}, "10.0.0.1"}, // /112 of IPv6 is /16 of IPv4.
		{"10.1.2.3:80", []string{"10.0.0.1, 127.0.0.1"}, "10.0.0.1"},
		{"10.1.2.3:80", []string{"198.51.100.1, unknown"}, "invalid IP"},
		{"10.1.2.3:80", []string{"198.51.100.1, 10.0.0.300"}, "invalid IP"},
		{"@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		t.Run(c.remote, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.remote, c.header
			require.Equal(t, c.want, trusted.Client(r).String(), "%v", c)
		})
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.1:1"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	require.Equal(t, "10.0.0.1", clientaddr.Networks(nil).Client(r).String(), "nobody is trusted by default")
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "x", "10.0.0.0/33", "10.0.0", "localhost", "10.0.0.1:80"} {
		_, err := clientaddr.ParseNetworks([]string{"10.0.0.1", bad})
		require.ErrorContains(t, err, "neither an address nor a network", bad)
	}
	n, err := clientaddr.ParseNetworks([]string{"192.0.2.77/24", "2001:db8::/32"})
	require.NoError(t, err)
	require.True(t, n.Contain(netip.MustParseAddr("192.0.2.1")))
	require.True(t, n.Contain(netip.MustParseAddr("2001:db8:1::1")))
	require.False(t, n.Contain(netip.MustParseAddr("192.0.3.1")))
	require.False(t, n.Contain(netip.Addr{}))
}
