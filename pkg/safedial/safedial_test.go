package safedial_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	for address, public := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true,
		"127.0.0.1": false, "127.1.2.3": false, "::1": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "172.16.3.4": false,
		"192.168.1.1": false, "169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.100.100.200": false, "168.63.129.16": false,
		"224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"3fff::1": false, "5f00::1": false, "fec0::1": false, "100::1": false, "4000::1": false, "ff02::1": false, "2001:db8::1": false,
		"192.88.99.1": false, "fe80::1%eth0": false, "2a00:1450:4001:80b::200e": true,
	} {
		err := safedial.Policy{}.Check(netip.MustParseAddr(address))
		if public {
			require.NoError(t, err, address)
		} else {
			require.ErrorIs(t, err, safedial.ErrForbidden, address)
		}
	}
	p, err := safedial.ParsePolicy(" 10.1.0.0/16, ::1")
	require.NoError(t, err)
	require.NoError(t, p.Check(netip.MustParseAddr("10.1.2.3")))
	require.NoError(t, p.Check(netip.MustParseAddr("::1")))
	require.ErrorIs(t, p.Check(netip.MustParseAddr("10.2.0.1")), safedial.ErrForbidden)
	_, err = safedial.ParsePolicy("nowhere")
	require.Error(t, err)
}

// An address of IPv6 that embeds one of IPv4 could lead to the latter.
func TestEmbeddedAddressesAreNotPublic(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:168.63.129.16", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1",
		"2002:7f00:1::", "2001:0:7f00:1::",
		"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a9fe:a9fe",
	} {
		require.ErrorIs(t, safedial.Policy{}.Check(netip.MustParseAddr(address)), safedial.ErrForbidden, address)
	}
}

func TestClientChecksTheAddressItConnectsTo(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(inner.Close)
	get := func(p safedial.Policy, url string) error {
		response, err := p.Client(10 * time.Second).Get(url)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	require.ErrorIs(t, get(safedial.Policy{}, inner.URL), safedial.ErrForbidden)
	loopback, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, get(loopback, inner.URL))
}

// A redirect is the response: neither the body nor the headers reach another address.
func TestClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	loopback, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the client followed the redirect") }))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		outer := httptest.NewServer(http.RedirectHandler(other.URL, status))
		t.Cleanup(outer.Close)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, outer.URL, strings.NewReader("body"))
		require.NoError(t, err)
		request.Header.Set("X-Api-Key", "secret")
		response, err := loopback.Client(10 * time.Second).Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode)
	}
}
