package destinations

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// tokenEndpoint gives the tokens token-1, token-2 …, and counts them.
func tokenEndpoint(t *testing.T, given *atomic.Int64) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, ok := r.BasicAuth()
		if !ok || id != "client" || secret != "topsecret%2F1" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		n := given.Add(1)
		_, _ = w.Write([]byte(`{"access_token":"token-` + string(rune('0'+n)) + `","token_type":"bearer","expires_in":"3600"}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func client(tokenURL string) func(*orchv1.DestinationCreate) {
	return func(c *orchv1.DestinationCreate) {
		c.Oauth = &orchv1.DestinationOAuthWrite{TokenUrl: tokenURL, ClientId: "client", ClientSecret: "topsecret/1", Scopes: []string{"a", "b"}}
	}
}

// A token serves all deliveries until its time is over, also those of another replica, and is replaced once when the receiver refuses it.
func TestATokenIsKeptUntilItExpiresOrIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var given atomic.Int64
	r := newReceiver(t, nil)
	accept := func(token string) {
		r.set(func(rw http.ResponseWriter, q *http.Request, _ string) {
			if q.Header.Get("Authorization") != "Bearer "+token {
				rw.WriteHeader(http.StatusUnauthorized)
			}
		})
	}
	accept("token-1")
	d := w.create(r.URL, client(tokenEndpoint(t, &given)))
	w.emit(resources(20, 20)...)
	w.pass()
	require.EqualValues(t, 1, given.Load())
	newWorldOn(t, w.Store, w.clock, w.Secrets).pass()
	w.emit("order.1")
	w.pass()
	require.EqualValues(t, 1, given.Load())

	accept("token-2")
	w.emit(resources(20, 20)...)
	w.pass()
	require.EqualValues(t, 2, given.Load(), "concurrent requests share the new token")
	w.clock.Advance(time.Hour)
	accept("token-3")
	w.emit("order.1")
	w.pass()
	require.EqualValues(t, 3, given.Load())
	for _, one := range w.log(d) {
		require.Equal(t, delivered, one.GetState())
		require.Len(t, one.GetLog(), 1)
		require.NotContains(t, prototext.Format(one), "token-")
	}
	accept("none")
	before := len(r.all())
	w.emit("order.1")
	w.pass()
	require.Len(t, r.all(), before+2, "a token is replaced once in an attempt")
	stored, err := w.destinations.Get(t.Context(), w.ws, uuid.MustParse(d.GetId()))
	require.NoError(t, err)
	require.NotContains(t, prototext.Format(stored), "token-4")
	require.NotContains(t, prototext.Format(stored), "topsecret")
	raw, err := store.GetRaw(t.Context(), w.destinations, w.ws, uuid.MustParse(d.GetId()))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "topsecret", query.Destination)
}

// A token endpoint that misbehaves fails the attempt with the cause, and nothing is sent to the receiver.
func TestTokenEndpointsThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		respond http.HandlerFunc
		cause   string
	}{
		"refuses the client": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "status 401"},
		"redirects to a private address": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "status 302"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("topsecret")) }, "not the JSON"},
		"another type": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"access_token":"topsecret","token_type":"mac"}`))
		}, "type Bearer"},
		"no token": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"token_type":"Bearer"}`)) }, "1 to"},
		"a line break": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"token_type":"Bearer","access_token":"topsecret\n"}`))
		}, "1 to"},
		"an endless body": {endless, "not the JSON"},
		"a huge token": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"token_type":"Bearer","access_token":"` + strings.Repeat("x", maxToken+1) + `"}`))
		}, "1 to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := newReceiver(t, nil)
			server := httptest.NewServer(c.respond)
			t.Cleanup(server.Close)
			d := w.create(r.URL, client(server.URL))
			w.emit("order.1")
			w.pass()
			log := w.log(d)[0]
			require.Empty(t, r.all())
			require.Equal(t, pending, log.GetState())
			require.Equal(t, reasonAuthorization, log.GetReason())
			require.Contains(t, log.GetError(), c.cause)
			require.NotContains(t, prototext.Format(log), "topsecret")
		})
	}
}

// endless responds until the client leaves.
func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(strings.Repeat(" ", 4096))); err != nil {
			return
		}
	}
}
