package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Outgoing adds the span of ctx to the metadata of its gRPC calls.
func Outgoing(ctx context.Context) context.Context {
	p := ParentOf(ctx)
	if p.Trace == "" {
		return ctx
	}
	ctx = metadata.AppendToOutgoingContext(ctx, keyTrace, p.Trace)
	if p.State != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, keyState, p.State)
	}
	return ctx
}

// Interceptor starts a span for each served call. The parent is the caller's span: in the same process that of the
// context, else that of the metadata.
func (t *Tracer) Interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		parent := Parent{Trace: first(ctx, keyTrace), State: first(ctx, keyState)}
		ctx, span := t.Serve(ctx, MethodName(info.FullMethod), parent)
		response, err := handler(ctx, request)
		span.SetAttributes(attribute.String("rpc.system", "grpc"), attribute.String("rpc.response.status_code", status.Code(err).String()))
		endCall(span, err)
		return response, err
	}
}

// endCall ends the span of a call. Only an error of the server is an error of the span.
func endCall(span trace.Span, err error) {
	if err != nil && !isServerError(status.Code(err)) {
		err = nil
	}
	End(span, err)
}

// MethodName is the name of a gRPC method without its package: "FlowService/CreateFlow".
func MethodName(fullMethod string) string {
	if at := strings.LastIndexByte(fullMethod, '/'); at > 0 {
		if dot := strings.LastIndexByte(fullMethod[:at], '.'); dot >= 0 {
			return fullMethod[dot+1:]
		}
	}
	return strings.TrimPrefix(fullMethod, "/")
}

// first returns the first value of a key of the call's metadata.
func first(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}
