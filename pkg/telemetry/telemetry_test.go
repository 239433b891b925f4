package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoggerWritesJSONWithoutTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, "gateway", telemetry.Logging{Level: slog.LevelInfo, Format: telemetry.FormatAuto})
	log.Debug("unheard")
	log.Info("heard", "request_id", "7", "took", 1500*time.Microsecond)
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "gateway", line["service"])
	require.Equal(t, "7", line["request_id"])
	require.Equal(t, "1.5ms", line["took"])
}

func TestFormatIsOneOfThree(t *testing.T) {
	t.Parallel()
	var f telemetry.Format
	require.NoError(t, f.UnmarshalText([]byte("JSON")))
	require.Equal(t, telemetry.FormatJSON, f)
	require.Error(t, f.UnmarshalText([]byte("xml")))
}

func TestRegisterTwiceGivesTheSame(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	counter := func() prometheus.Counter {
		return telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{Name: "orch_test_total", Help: "A test."}))
	}
	first, second := counter(), counter()
	require.Same(t, first, second)
}

func TestInternalServesWhatOperatorsNeed(t *testing.T) {
	t.Parallel()
	group := run.NewGroup(run.Options{Logger: slog.New(slog.DiscardHandler)})
	internal, err := telemetry.NewInternal("127.0.0.1:0", telemetry.NewRegistry("test", "1"), group.Health())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- internal.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]struct {
		status int
		part   string
	}{
		"/metrics":             {http.StatusOK, `orch_build_info{`},
		"/health":              {http.StatusOK, `"ok":true`},
		"/ready":               {http.StatusServiceUnavailable, `"phase":"new"`},
		"/debug/pprof/cmdline": {http.StatusOK, ""},
	} {
		t.Run(path, func(t *testing.T) {
			response, err := client.Get("http://" + internal.Addr().String() + path)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, want.status, response.StatusCode, path)
			require.Contains(t, string(body), want.part)
		})
	}
	cancel()
	require.NoError(t, <-done)

	_, err = telemetry.NewInternal("256.0.0.1:1", prometheus.NewRegistry(), nil)
	require.Error(t, err)
}
