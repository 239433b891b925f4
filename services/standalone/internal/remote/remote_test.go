package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func TestRequestsCarryCredentialsAndWorkspace(t *testing.T) {
	for name, test := range map[string]struct{ key, header string }{
		"none":     {"", ""},
		"api key":  {"onu_abc", "Bearer onu_abc"},
		"password": {"me:pass:word", "Basic bWU6cGFzczp3b3Jk"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_ = json.NewEncoder(w).Encode([]string{r.Header.Get("Authorization"), r.URL.Path, r.Header.Get("Content-Type"), string(body)})
			}))
			defer server.Close()
			s := &remote.Server{API: server.URL + "/api", Key: test.key, Account: "a", Workspace: "w"}
			got, err := remote.Read[[]string](t.Context(), s, http.MethodPost, s.InWorkspace("/webhooks/"), map[string]int{"n": 1})
			require.NoError(t, err)
			require.Equal(t, []string{test.header, "/api/accounts/a/workspaces/w/webhooks/", "application/json", `{"n":1}`}, got)
		})
	}
}

func TestErrorsSayWhatTheServerSays(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "Webhook not found."}`: "Webhook not found. (404)",
		`{"exception_message": "no such"}`: "no such (404)",
		`<html>`:                           "the server answered 404 Not Found",
		``:                                 "the server answered 404 Not Found",
		`{"detail": [{"msg": "x"}]}`:       `[{"msg": "x"}] (404)`,
		`{"exception_message": "Invalid", "exception_detail": [{"loc": ["body", "tags", 0], "msg": "too long"}]}`:                          "tags.0: too long (404)",
		`{"exception_detail": [{"loc": ["body", "template"], "msg": "Value error, syntax error"}, {"loc": ["body"], "msg": "no object"}]}`: "template: syntax error; body: no object (404)",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		}))
		_, err := (&remote.Server{API: server.URL + "/api"}).Call(t.Context(), http.MethodGet, "/", nil)
		server.Close()
		require.EqualError(t, err, want)
		require.True(t, remote.IsStatus(err, http.StatusNotFound))
	}
}

func TestServersThatAreNoneAreExplained(t *testing.T) {
	site := httptest.NewServer(http.NotFoundHandler())
	_, err := (&remote.Server{API: site.URL}).Call(t.Context(), http.MethodGet, "/flows", nil)
	require.EqualError(t, err, "the server answered 404 Not Found; the address of an API ends with /api, and "+site.URL+" does not")
	require.True(t, remote.IsStatus(err, http.StatusNotFound))
	site.Close()
	_, err = (&remote.Server{API: site.URL + "/api"}).Call(t.Context(), http.MethodGet, "/flows", nil)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, "reach the server at "+site.URL+"/api: ")
	require.ErrorContains(t, err, "is it running?")
}
