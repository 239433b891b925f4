package requestlog

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// watched answers one request through the observer, and what was logged.
func watched(t *testing.T, next http.HandlerFunc, header http.Header) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	h := Handler(Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Registry: prometheus.NewRegistry(),
		Slow: time.Hour, Vocabulary: vocabulary.Orch,
	}, next)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/hooks/secret", nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, log.String()
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for id, kept := range map[string]bool{
		"abc-123_.:/=+Z": true, strings.Repeat("a", 128): true,
		"": false, strings.Repeat("a", 129): false, "a b": false, "a\nb": false, `a"b`: false, "ä": false,
	} {
		require.Equal(t, kept, validRequestID(id), id)
		var inside string
		w, log := watched(t, func(w http.ResponseWriter, _ *http.Request) { inside = RequestID(w) }, http.Header{headerID: {id}})
		got := w.Header().Get(headerID)
		require.Equal(t, got, inside)
		require.Contains(t, log, got)
		if kept {
			require.Equal(t, id, got)
		} else {
			require.NoError(t, uuid.Validate(got), id)
		}
	}
}

func TestALogLineNamesTheTemplateAndNeverThePath(t *testing.T) {
	t.Parallel()
	_, log := watched(t, func(w http.ResponseWriter, _ *http.Request) {
		SetRoute(w, "/hooks/{slug}")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("four"))
	}, http.Header{})
	require.Contains(t, log, "route=/hooks/{slug}")
	require.Contains(t, log, "status=418")
	require.Contains(t, log, "bytes=4")
	require.NotContains(t, log, "secret")
}

func TestFailuresAreLoggedUnlessAProbeWaits(t *testing.T) {
	t.Parallel()
	for route, level := range map[string]string{"/flows/": "INFO", routeReady: "DEBUG"} {
		_, log := watched(t, func(w http.ResponseWriter, _ *http.Request) {
			SetRoute(w, route)
			w.WriteHeader(http.StatusServiceUnavailable)
		}, http.Header{})
		require.Contains(t, log, "level="+level, route)
	}
}

func TestHintsSayNothingOfTheOutcome(t *testing.T) {
	t.Parallel()
	r := &record{ResponseWriter: httptest.NewRecorder()}
	r.WriteHeader(http.StatusEarlyHints)
	require.Zero(t, r.status)
	r.WriteHeader(http.StatusTeapot)
	r.WriteHeader(http.StatusOK)
	require.Equal(t, http.StatusTeapot, r.status)
}

func TestPanics(t *testing.T) {
	t.Parallel()
	w, log := watched(t, func(http.ResponseWriter, *http.Request) { panic("no") }, http.Header{})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.JSONEq(t, `{"exception_message":"Internal Server Error"}`, w.Body.String())
	require.Contains(t, log, "a request panicked")

	// Half an answer must not look whole: the connection is closed.
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		watched(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic("no")
		}, http.Header{})
	})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		watched(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.Header{})
	})
}

func TestTheLogShowsAForeignClientOnceHowToStartTheServer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := Handler(Options{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Registry: prometheus.NewRegistry(), Slow: time.Hour, Vocabulary: vocabulary.Orch,
	}, http.NotFoundHandler())
	for range 3 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("User-Agent", "prefect/3.8.8 (API 0.8.4)")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Equal(t, 1, strings.Count(log.String(), "--vocabulary"))
}
