package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway"
)

func TestSettingsAreDescribed(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom[gateway.Config](nil)
	require.NoError(t, err)
	require.Equal(t, config.Loopback(config.PortGateway), cfg.Listen)
	require.Equal(t, config.Loopback(config.PortGatewayInternal), cfg.InternalListen)
	require.Equal(t, config.Loopback(config.PortOrchestration), cfg.OrchestrationAddr)
	require.Equal(t, config.Loopback(config.PortHooks), cfg.HooksAddr)
}

// TestAcrossProcesses runs the domain behind gRPC, as the three services do.
func TestAcrossProcesses(t *testing.T) {
	t.Parallel()
	backend := rpc.NewServer()
	orchv1.RegisterFlowServiceServer(backend, &domain{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- backend.Serve(ctx, ln) }()

	s, stop := across(t, ln.Addr().String())
	g := s.Gateway
	require.Eventually(t, func() bool { return g.Ready() == nil }, waitTime, tick)
	require.NoError(t, gateway.Probe(t.Context(), gateway.Config{Listen: g.Addr().String()}))

	got := s.do(t, "POST", "/api/flows/", `{"name":"a"}`, "User-Agent: umlaut/ü")
	require.Equal(t, 201, got.status, got.body)
	require.Equal(t, "test", got.header.Get("X-Made-By"))
	require.Equal(t, 501, s.do(t, "GET", "/api/webhooks/", "").status, "a service that the backend does not know")

	cancel()
	require.NoError(t, <-served)
	got = s.do(t, "POST", "/api/flows/", `{"name":"a"}`)
	require.Equal(t, 503, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Equal(t, "true", got.header.Get(vocabulary.MaintenanceHeader))
	require.Equal(t, 503, s.do(t, "GET", "/api/ready", "").status)
	require.Equal(t, 200, s.do(t, "GET", "/api/health", "").status)
	require.ErrorIs(t, gateway.Probe(t.Context(), gateway.Config{Listen: g.Addr().String()}), telemetry.ErrNotReady)

	stop()
	require.Error(t, gateway.Probe(t.Context(), gateway.Config{Listen: g.Addr().String()}))
}

// TestTheFirstRequest arrives before the connection to orchestration is there. It waits for a connection that comes, and gets a 503
// that says when to retry if orchestration is away.
func TestTheFirstRequest(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"orchestration is about to serve": 201, "orchestration is away": 503} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := rpc.NewServer()
			orchv1.RegisterFlowServiceServer(backend, &domain{})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan error, 1)
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			s, stop := across(t, ln.Addr().String())
			if status == 201 {
				go func() { served <- backend.Serve(ctx, ln) }()
			} else {
				served <- ln.Close()
			}
			got := s.do(t, "POST", "/api/flows/", `{"name":"a"}`)
			require.Equal(t, status, got.status, got.body)
			require.Equal(t, status == 503, got.header.Get("Retry-After") != "")
			stop()
			cancel()
			require.NoError(t, <-served)
		})
	}
}

// across runs a gateway that calls orchestration at an address, until stop is called.
func across(t *testing.T, orchestration string) (s *server, stop func()) {
	t.Helper()
	g, err := gateway.New(settings(func(c *gateway.Config) { c.OrchestrationAddr = orchestration }), gateway.Deps{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	transport := &http.Transport{}
	s = &server{Gateway: g, url: "http://" + g.Addr().String(), client: &http.Client{Transport: transport}}
	return s, func() {
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-done)
	}
}

// TestProcess starts everything that the command starts, and stops it as a signal does.
func TestProcess(t *testing.T) {
	t.Parallel()
	logs := &lines{}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	nats, err := embeddednats.Start(embeddednats.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, nats.Close()) }()
	cfg := settings(func(c *gateway.Config) {
		c.InternalListen, c.OrchestrationAddr = "127.0.0.1:0", "127.0.0.1:1"
		c.Broker.URL = nats.ClientURL()
	})
	go func() { done <- gateway.RunProcess(ctx, cfg, "1.2.3", slog.New(slog.NewTextHandler(logs, nil)), nil) }()
	require.Eventually(t, func() bool { return strings.Contains(logs.String(), "msg=listening") }, waitTime, tick)
	stop()
	require.NoError(t, <-done)

	cfg.InternalListen = "nowhere"
	require.ErrorContains(t, gateway.RunProcess(t.Context(), cfg, "1.2.3", slog.New(slog.DiscardHandler), nil), "internal address")
}

// TestHeadersAreBounded guards the memory of the server.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	require.Equal(t, 200, s.do(t, "GET", "/api/health", "", "X-Long: "+strings.Repeat("x", 60<<10)).status)
	require.Equal(t, 431, s.do(t, "GET", "/api/health", "", "X-Long: "+strings.Repeat("x", 80<<10)).status)
}

func TestReadinessFollowsTheProcess(t *testing.T) {
	t.Parallel()
	group := run.NewGroup(run.Options{})
	s := start(t, gateway.Deps{Health: group.Health()})
	require.Equal(t, 503, s.do(t, "GET", "/api/ready", "").status, "the group does not run")
	group.Health().Check("store", func() error { return errors.New("canary") })
	got := s.do(t, "GET", "/api/ready", "")
	require.Equal(t, `{"message":"Not ready"}`, got.body)
}

// TestRequestsInFlightAreFinished stops the gateway while it answers.
func TestRequestsInFlightAreFinished(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	hooks := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusNoContent)
	})
	g, err := gateway.New(settings(), gateway.Deps{Hooks: hooks, Caller: panicking{}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := make(chan int, 1)
	go func() {
		response, err := client.Post("http://"+g.Addr().String()+"/hooks/x", "", nil)
		if err != nil {
			status <- 0
			return
		}
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	<-entered
	stop()
	require.Eventually(t, func() bool { return g.Ready() != nil }, waitTime, tick)
	close(leave)
	require.Equal(t, http.StatusNoContent, <-status)
	require.NoError(t, <-done)
}
