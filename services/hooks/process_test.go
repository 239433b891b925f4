package hooks_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/hooks"
)

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestProcess(t *testing.T) {
	t.Parallel()
	nats := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	cfg, err := config.LoadFrom[hooks.Config](map[string]string{
		"ORCH_HOOKS_LISTEN": free(t), "ORCH_HOOKS_INTERNAL_LISTEN": free(t), "ORCH_NATS_URL": "nats://" + nats.Address(),
	})
	require.NoError(t, err)
	require.EqualValues(t, 5<<20, cfg.MaxBody)
	require.Error(t, hooks.Probe(t.Context(), cfg), "nothing runs yet")

	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hooks.RunProcess(ctx, cfg, "test", slog.New(slog.DiscardHandler), nil) }()
	t.Cleanup(stop)
	require.Eventually(t, func() bool { return hooks.Probe(t.Context(), cfg) == nil }, waitTime, tick)

	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+cfg.Listen+"/hooks/unknown", "application/json", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)

	stop()
	require.NoError(t, <-ended)
	require.Error(t, hooks.Probe(t.Context(), cfg))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom[hooks.Config](map[string]string{"ORCH_HOOKS_MAX_BODY": "-1", "ORCH_HOOKS_ACK_TIMEOUT": "-1s"})
	require.ErrorContains(t, err, "ORCH_HOOKS_MAX_BODY")
	require.ErrorContains(t, err, "ORCH_HOOKS_ACK_TIMEOUT")
	_, err = hooks.New(hooks.Config{}, hooks.Deps{})
	require.ErrorContains(t, err, "needs a broker")
}
