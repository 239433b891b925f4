package gateway_test

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway"
)

// Every gateway refuses API requests during a maintenance, and so does a gateway that starts meanwhile. Webhooks, health and the switch are
// served.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	accepted := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	nats := testkit.StartNATS(t, embeddednats.Options{})
	replica := func() *server {
		conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		return start(t, gateway.Deps{Broker: conn, Hooks: accepted})
	}
	one, two := replica(), replica()
	status := func(s *server) int { return s.do(t, "POST", "/api/flows/filter", "{}").status }
	require.JSONEq(t, `{"enabled":false,"reason":"","since":null}`, one.do(t, "GET", "/api/admin/maintenance", "").body)

	got := one.do(t, "PUT", "/api/admin/maintenance", `{"enabled":true,"reason":"upgrade"}`)
	require.Equal(t, 200, got.status)
	state := got.body
	require.Equal(t, 503, status(one), "the gateway that made the change")
	require.Eventually(t, func() bool { return status(two) == 503 }, waitTime, tick)
	started := replica()
	for _, s := range []*server{one, two, started} {
		got := s.do(t, "POST", "/api/flows/filter", "{}")
		require.Equal(t, 503, got.status)
		require.Equal(t, "true", got.header.Get(vocabulary.MaintenanceHeader))
		require.Equal(t, "5", got.header.Get("Retry-After"))
		require.Contains(t, got.body, "The server is in maintenance: upgrade")
		require.Equal(t, 200, s.do(t, "GET", "/api/health", "").status)
		require.Equal(t, 204, s.do(t, "POST", "/hooks/slug", "{}").status)
		require.JSONEq(t, state, s.do(t, "GET", "/api/admin/maintenance", "").body)
	}

	require.Equal(t, 422, two.do(t, "PUT", "/api/admin/maintenance", `{"enabled":"soon"}`).status)
	require.Equal(t, 200, two.do(t, "PUT", "/api/admin/maintenance", `{"enabled":false}`).status)
	for _, s := range []*server{one, two, started} {
		require.Eventually(t, func() bool { return status(s) != 503 }, waitTime, tick)
	}
}

func TestMaintenanceNeedsABroker(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	require.Equal(t, 501, s.do(t, "PUT", "/api/admin/maintenance", `{"enabled":true}`).status)
	require.Equal(t, 200, s.do(t, "GET", "/api/admin/maintenance", "").status)
}
