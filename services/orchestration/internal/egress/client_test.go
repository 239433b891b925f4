package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/safedial"
)

// Targets that hang, or answer without end, end a call within its time and its limit of bytes. All of them are worth another
// attempt, and none quotes the address, which may be a secret.
func TestTargetsThatHang(t *testing.T) {
	t.Parallel()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	c := NewClient(policy, nil, "test", 200*time.Millisecond)
	target := func(handle http.HandlerFunc) string {
		server := httptest.NewServer(handle)
		t.Cleanup(server.Close)
		return server.URL + "/secret"
	}
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // It accepts connections and reads nothing.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mute.Close()) })
	for name, address := range map[string]string{
		"no response": target(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"headers, then nothing": target(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
		"mute": "http://" + mute.Addr().String() + "/secret",
	} {
		_, err := c.Send(t.Context(), NewMessage(http.MethodPost, address))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "secret", name)
		require.Equal(t, ReasonTimeout, Reason(err), name)
	}
	endless, err := c.Send(t.Context(), NewMessage(http.MethodPost, target(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 4*MaxResponse)))
	})))
	require.NoError(t, err)
	require.Len(t, endless.Body, MaxResponse)
}

// Errors of the network describe neither the resolver nor the addresses that a name has.
func TestErrorsOfTheNetworkNameNoAddress(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 443}
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://intern/secret", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: err}}
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"refused":         {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "dial: connect: connection refused"},
		"not public":      {dial(fmt.Errorf("connect to 10.1.2.3: %w", safedial.ErrForbidden)), "the address is not public"},
		"unknown":         {dial(&net.DNSError{Err: "no such host", Name: "intern", Server: "10.1.2.3:53", IsNotFound: true}), "the name cannot be resolved"},
		"resolver silent": {dial(&net.DNSError{Err: "timeout", Name: "intern", Server: "10.1.2.3:53", IsTimeout: true}), "resolve the name: context deadline exceeded"},
		"address refused": {&url.Error{Op: "Post", URL: "http://intern/secret", Err: errors.New("bad header")}, "bad header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, withoutAddress(test.err), test.want)
		})
	}
}

// Receivers that quote the request in a page of errors show readers neither the path of the address nor the secret headers.
func TestResponsesDoNotShowTheSecretsOfRequests(t *testing.T) {
	t.Parallel()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.RequestURI()+"/")
		fmt.Fprintf(w, "Cannot POST %s, invalid token %s of %q", r.URL.Path, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header)
	}))
	t.Cleanup(target.Close)
	m := NewMessage(http.MethodPost, target.URL+"/services/topsecret?key=topsecret")
	m.SetSecret("Authorization", "Bearer topsecret")
	m.SetSecret("X-Key", `top"secret`)
	m.SetSecret("Accept", "application/json")
	response, err := NewClient(policy, nil, "test", 10*time.Second).Send(t.Context(), m)
	require.NoError(t, err)
	require.Contains(t, string(response.Body), "topsecret")
	shown := response.ShownBody()
	require.Contains(t, shown, "Cannot POST ***, invalid token *** of ")
	require.Contains(t, shown, "application/json")
	for _, text := range []string{shown, response.ShownHeaders()["location"]} {
		require.NotContains(t, text, "secret")
	}
}

// A message whose headers or method cannot be sent is an error that shows neither their values nor the address, and nothing is
// sent.
func TestHeadersCannotInjectOthers(t *testing.T) {
	t.Parallel()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	t.Cleanup(target.Close)
	c := NewClient(policy, nil, "test", 10*time.Second)
	for _, header := range [][2]string{{"X-Key", "secret\r\nX-Admin: 1"}, {"X-Key\r\nX-Admin", "secret"}, {"X-Key", "secret\x00"}} {
		m := NewMessage(http.MethodPost, target.URL+"/secret")
		m.SetSecret(header[0], header[1])
		_, err := c.Send(t.Context(), m)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
	for _, method := range []string{"GET / HTTP/1.1\r\nX-Admin: 1\r\n\r\nGET", "bad method"} {
		_, err := c.Send(t.Context(), NewMessage(method, target.URL+"/secret"))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAMessageMayForbidPrivateAddresses(t *testing.T) {
	t.Parallel()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	target := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(target.Close)
	c := NewClient(policy, nil, "test", 10*time.Second)
	for _, public := range []bool{false, true} {
		m := NewMessage(http.MethodPost, target.URL)
		m.PublicOnly = public
		_, err := c.Send(t.Context(), m)
		require.Equal(t, public, errors.Is(err, safedial.ErrForbidden))
		if public {
			require.ErrorContains(t, err, "allow_private_urls")
		}
	}
}

func TestRefusedAddressNamesTheSetting(t *testing.T) {
	t.Parallel()
	c := NewClient(safedial.Policy{}, nil, "test", 10*time.Second)
	for _, address := range []string{"http://127.0.0.1:1/", "http://10.0.0.1/", "http://[::1]:1/", "http://169.254.169.254/"} {
		_, err := c.Send(t.Context(), NewMessage(http.MethodPost, address))
		require.ErrorIs(t, err, safedial.ErrForbidden, address)
		require.ErrorContains(t, err, "ORCH_AUTOMATIONS_ALLOWED_NETWORKS", address)
	}
}

func TestOneReceiverHasOneName(t *testing.T) {
	t.Parallel()
	for address, receiver := range map[string]string{
		"https://Example.com/a": "https://example.com:443", "https://example.com:443/b?c": "https://example.com:443",
		"http://user:secret@example.com.": "http://example.com:80", "http://[::1]:8080/": "http://[::1]:8080", "http://a b": "",
	} {
		require.Equal(t, receiver, NewMessage(http.MethodPost, address).Receiver(), address)
	}
}
