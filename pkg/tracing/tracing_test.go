package tracing_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/tracing"
)

// open returns a provider that writes a file, and a function that closes it and reads the spans by name.
func open(t *testing.T) (*tracing.Provider, func() map[string]tracing.Line) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	p, err := tracing.Open(t.Context(), tracing.Settings{File: path},
		otlp.Process{Name: "orch-test", Version: "1", Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	return p, func() map[string]tracing.Line {
		require.NoError(t, p.Close(t.Context()))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		spans := map[string]tracing.Line{}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line tracing.Line
			require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
			spans[line.Name] = line
		}
		return spans
	}
}

const (
	remoteTrace  = "0af7651916cd43dd8448eb211c80319c"
	remoteParent = "00-" + remoteTrace + "-b7ad6b7169203331-01"
)

// A trace passes from a client through HTTP, gRPC metadata and an event, and back out.
func TestTraceContinuesAcrossBorders(t *testing.T) {
	t.Parallel()
	p, spans := open(t)
	header := http.Header{}
	header.Set("Traceparent", remoteParent)
	header.Set("Tracestate", "vendor=1")
	ctx, request := p.Tracer("gateway").Serve(t.Context(), "POST", tracing.FromHeader(header))

	callCtx, call := tracing.StartClient(ctx, "call")
	md, _ := metadata.FromOutgoingContext(tracing.Outgoing(callCtx))
	served := metadata.NewIncomingContext(t.Context(), md)
	info := &grpc.UnaryServerInfo{FullMethod: "/orch.v1.FlowService/CreateFlow"}
	_, err := p.Tracer("orchestration").Interceptor()(served, nil, info, func(ctx context.Context, _ any) (any, error) {
		parent := tracing.ParentOf(ctx)
		require.Equal(t, "vendor=1", parent.State)
		_, consumed := p.Tracer("orchestration").Continue(t.Context(), "persist event", parent)
		tracing.End(consumed, nil)
		out := http.Header{}
		tracing.SetHeader(ctx, out)
		require.Contains(t, out.Get("traceparent"), remoteTrace)
		return nil, status.Error(codes.Internal, "broken")
	})
	require.Error(t, err)
	tracing.End(call, nil)
	tracing.EndRequest(request, "POST", "/flows/", 503)

	got := spans()
	root, server, persist := got["POST /flows/"], got["FlowService/CreateFlow"], got["persist event"]
	require.Equal(t, "b7ad6b7169203331", root.ParentID)
	require.Equal(t, "server", root.Kind)
	require.Equal(t, "gateway", root.Component)
	require.Equal(t, "orch-test", root.Service)
	require.Equal(t, "Service Unavailable", root.Error)
	require.EqualValues(t, 503, root.Attributes["http.response.status_code"])
	for name, line := range got {
		require.Equal(t, remoteTrace, line.TraceID, name)
	}
	require.Equal(t, server.SpanID, persist.ParentID)
	require.Equal(t, "consumer", persist.Kind)
}

// Only failures of the server are errors of a span.
func TestRefusalsAreNoErrors(t *testing.T) {
	t.Parallel()
	p, spans := open(t)
	around := p.Tracer("orchestration").Interceptor()
	for method, code := range map[string]codes.Code{"NotFound": codes.NotFound, "Unavailable": codes.Unavailable} {
		_, err := around(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/orch.v1.S/" + method},
			func(context.Context, any) (any, error) { return nil, status.Error(code, "reason") })
		require.Equal(t, code, status.Code(err))
	}
	got := spans()
	require.Empty(t, got["S/NotFound"].Error)
	require.NotEmpty(t, got["S/Unavailable"].Error)
}

// Off, nothing is recorded or passed on, and nothing is allocated.
func TestOffCostsNothing(t *testing.T) {
	var off *tracing.Provider
	tracer := off.Tracer("gateway")
	require.Nil(t, tracer)
	ctx := t.Context()
	header := http.Header{"Traceparent": {remoteParent}}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		ctx, request := tracer.Serve(ctx, "POST", tracing.FromHeader(header))
		ctx, span := tracing.Start(ctx, "render")
		tracing.SetHeader(ctx, header)
		ctx = tracing.Outgoing(ctx)
		if tracing.ParentOf(ctx) != (tracing.Parent{}) {
			t.Error("a parent without a span")
		}
		tracing.End(span, errRefused)
		tracing.EndRequest(request, "POST", "/flows/", 200)
	}))
	_, span := tracer.Continue(ctx, "persist event", tracing.Parent{Trace: remoteParent})
	require.False(t, span.IsRecording())
	require.NoError(t, off.Close(ctx))
}

var errRefused = errors.New("refused")

func BenchmarkOff(b *testing.B) {
	var tracer *tracing.Tracer
	b.ReportAllocs()
	for b.Loop() {
		ctx, request := tracer.Serve(b.Context(), "POST", tracing.Parent{})
		_, span := tracing.Start(ctx, "render")
		tracing.End(span, nil)
		tracing.EndRequest(request, "POST", "/hooks/{slug}", 204)
	}
}

// Background work that belongs to no trace begins none, and a malformed parent begins a new one.
func TestParents(t *testing.T) {
	t.Parallel()
	p, spans := open(t)
	_, span := p.Tracer("orchestration").Continue(t.Context(), "timer", tracing.Parent{})
	require.False(t, span.IsRecording())
	_, span = p.Tracer("gateway").Serve(t.Context(), "malformed", tracing.Parent{Trace: "no trace"})
	tracing.End(span, nil)
	// The client chose not to sample.
	ctx, unsampled := p.Tracer("gateway").Serve(t.Context(), "unsampled", tracing.Parent{Trace: "00-" + remoteTrace + "-b7ad6b7169203331-00"})
	require.False(t, unsampled.IsRecording())
	require.True(t, trace.SpanContextFromContext(ctx).IsValid())
	require.Regexp(t, "-00$", tracing.ParentOf(ctx).Trace, "the decision is passed on")
	tracing.End(unsampled, nil)
	got := spans()
	require.Len(t, got, 1)
	require.Empty(t, got["malformed"].ParentID)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environment map[string]string
		on          bool
		refused     string
	}{
		"nothing set":      {},
		"no exporter":      {environment: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"disabled":         {environment: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"by HTTP":          {environment: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, on: true},
		"by gRPC":          {environment: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, on: true},
		"unknown exporter": {environment: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, refused: "OTEL_TRACES_EXPORTER"},
		"unknown protocol": {
			environment: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, refused: "OTEL_EXPORTER_OTLP_PROTOCOL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tracing.Open(t.Context(), tracing.Settings{}, otlp.Process{Name: "test", Getenv: func(name string) string { return test.environment[name] }})
			if test.refused != "" {
				require.ErrorIs(t, err, otlp.ErrSettings, name)
				require.ErrorContains(t, err, test.refused, name)
				return
			}
			require.NoError(t, err, name)
			require.Equal(t, test.on, p != nil, name)
			require.NoError(t, p.Close(t.Context()), name)
		})
	}
	_, err := tracing.Open(t.Context(), tracing.Settings{File: t.TempDir()}, otlp.Process{Getenv: func(string) string { return "" }})
	require.ErrorContains(t, err, "open trace file")
}
