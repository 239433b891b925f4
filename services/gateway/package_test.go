package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flowID is a flow that exists.
const flowID = "01890000-0000-7000-8000-000000000001"

// How long, and how often, tests look for what must become true.
const (
	waitTime = 10 * time.Second
	tick     = 5 * time.Millisecond
)

// domain is a small domain behind the gateway: it keeps the last request, and fails on request.
type domain struct {
	orchv1.UnimplementedFlowServiceServer
	orchv1.UnimplementedFlowRunServiceServer
	orchv1.UnimplementedFlowRunStateServiceServer
	orchv1.UnimplementedEventServiceServer
	orchv1.UnimplementedWebhookServiceServer
	orchv1.UnimplementedFlowRunLogServiceServer

	mu   sync.Mutex
	err  error // Returned by every method when set.
	last any   // The last request.
	info request.Info
}

// take notes a request.
func (d *domain) take(ctx context.Context, last any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	d.last, d.info = last, info
	return d.err
}

func (d *domain) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *domain) seen() (any, request.Info) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.info
}

func flow(name string) *orchv1.Flow {
	at := &timestamppb.Timestamp{Seconds: 1_700_000_000}
	return &orchv1.Flow{Id: flowID, Name: name, Created: at, Updated: at}
}

func (d *domain) CreateFlow(ctx context.Context, r *orchv1.CreateFlowRequest) (*orchv1.Flow, error) {
	if err := d.take(ctx, r); err != nil {
		return nil, err
	}
	if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
		return nil, err
	}
	return flow(r.GetFlow().GetName()), rpc.SetHeader(ctx, "X-Made-By", "test")
}

func (d *domain) ReadFlow(ctx context.Context, r *orchv1.ReadFlowRequest) (*orchv1.Flow, error) {
	return flow("read"), d.take(ctx, r)
}

func (d *domain) ReadFlowByName(ctx context.Context, r *orchv1.ReadFlowByNameRequest) (*orchv1.Flow, error) {
	return flow(r.GetName()), d.take(ctx, r)
}

func (d *domain) ReadFlows(ctx context.Context, r *orchv1.ReadFlowsRequest) (*orchv1.FlowList, error) {
	if err := d.take(ctx, r); err != nil {
		return nil, err
	}
	if r.GetQuery().GetLimit().GetValue() > 200 {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "Invalid limit: must be less than or equal to 200.")
	}
	list := &orchv1.FlowList{}
	for range r.GetQuery().GetLimit().GetValue() {
		list.Flows = append(list.Flows, flow("one of many"))
	}
	return list, nil
}

func (d *domain) CountFlows(ctx context.Context, r *orchv1.CountFlowsRequest) (*orchv1.CountResponse, error) {
	return &orchv1.CountResponse{Count: 7}, d.take(ctx, r)
}

func (d *domain) ReadFlowRuns(ctx context.Context, r *orchv1.ReadFlowRunsRequest) (*orchv1.FlowRunList, error) {
	return &orchv1.FlowRunList{}, d.take(ctx, r)
}

func (d *domain) ReadFlowRunHistory(ctx context.Context, r *orchv1.ReadFlowRunHistoryRequest) (*orchv1.HistoryList, error) {
	return &orchv1.HistoryList{}, d.take(ctx, r)
}

func (d *domain) UpdateFlow(ctx context.Context, r *orchv1.UpdateFlowRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, d.take(ctx, r)
}

func (d *domain) DeleteFlow(ctx context.Context, r *orchv1.DeleteFlowRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, d.take(ctx, r)
}

func (d *domain) ListWebhooks(ctx context.Context, r *orchv1.ListWebhooksRequest) (*orchv1.WebhookList, error) {
	return &orchv1.WebhookList{}, d.take(ctx, r)
}

func (d *domain) CountWebhooks(ctx context.Context, r *orchv1.CountWebhooksRequest) (*orchv1.CountResponse, error) {
	return &orchv1.CountResponse{Count: 3}, d.take(ctx, r)
}

func (d *domain) ReadEventsPage(ctx context.Context, r *orchv1.ReadEventsPageRequest) (*orchv1.EventPage, error) {
	return &orchv1.EventPage{}, d.take(ctx, r)
}

func (d *domain) CountEvents(ctx context.Context, r *orchv1.CountEventsRequest) (*orchv1.EventCountList, error) {
	return &orchv1.EventCountList{}, d.take(ctx, r)
}

func (d *domain) ReadEvents(ctx context.Context, r *orchv1.ReadEventsRequest) (*orchv1.EventPage, error) {
	return &orchv1.EventPage{Events: []*orchv1.ReceivedEvent{{
		Id: flowID, Event: "something.<b>happened</b>", Occurred: &timestamppb.Timestamp{Seconds: 1_700_000_000},
		Received: &timestamppb.Timestamp{Seconds: 1_700_000_000}, Resource: &orchv1.Resource{Labels: map[string]string{"a": "b"}},
	}}, Total: 1}, d.take(ctx, r)
}

// DownloadFlowRunLogs answers a file in three parts; of the run with another id than flowID the last part cannot be read.
func (d *domain) DownloadFlowRunLogs(ctx context.Context, r *orchv1.DownloadFlowRunLogsRequest) (*httpbody.HttpBody, error) {
	if err := d.take(ctx, r); err != nil {
		return nil, err
	}
	next := map[string]string{"": "second", "second": "third"}[r.GetCursor()]
	if next == "" && r.GetId() != flowID {
		return nil, rpc.Detail(http.StatusNotFound, "Flow run not found")
	}
	part := strings.Repeat("part "+r.GetCursor()+"\n", 1000)
	return &httpbody.HttpBody{ContentType: "text/csv", Data: []byte(part)}, rpc.SetNext(ctx, next)
}

// server is a running gateway with its domain and its logs.
type server struct {
	*gateway.Gateway
	domain *domain
	logs   *lines
	url    string
	client *http.Client
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// settings are a test's defaults: any free port of loopback.
func settings(change ...func(*gateway.Config)) gateway.Config {
	cfg := gateway.Config{Listen: "127.0.0.1:0", SlowRequest: 1 << 40, HooksAddr: "127.0.0.1:1"}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

// start runs a gateway until the test ends.
func start(t testing.TB, deps gateway.Deps, change ...func(*gateway.Config)) *server {
	t.Helper()
	s := &server{domain: &domain{}, logs: &lines{}}
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	local := rpc.NewLocal(rpc.Recover(log))
	orchv1.RegisterFlowServiceServer(local, s.domain)
	orchv1.RegisterFlowRunServiceServer(local, s.domain)
	orchv1.RegisterFlowRunStateServiceServer(local, s.domain)
	orchv1.RegisterEventServiceServer(local, s.domain)
	orchv1.RegisterWebhookServiceServer(local, s.domain)
	orchv1.RegisterFlowRunLogServiceServer(local, s.domain)
	if deps.Caller == nil {
		deps.Caller = local
	}
	if deps.Registry == nil {
		deps.Registry = prometheus.NewRegistry()
	}
	deps.Log = log
	deps.Version = "1.2.3"
	var err error
	s.Gateway, err = gateway.New(settings(change...), deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.url = "http://" + s.Addr().String()
	transport := &http.Transport{DisableCompression: true}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-done)
	})
	return s
}

// answer is a response that has been read.
type answer struct {
	status int
	body   string
	header http.Header
}

// do sends a request; headers are "Name: value", and "Host: x" sets the host.
func (s *server) do(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			request.Host = value
		} else {
			request.Header.Add(name, value)
		}
	}
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, string(read), response.Header}
}
