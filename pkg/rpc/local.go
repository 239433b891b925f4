package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Local calls services of the same process. Register services before the first call.
type Local struct {
	jsonHandlers

	methods map[string]localMethod
	around  chain
}

type localMethod struct {
	server  any
	handler grpc.MethodHandler
}

// NewLocal returns a caller and registrar that runs every call through the interceptors, the first one outermost.
func NewLocal(around ...grpc.UnaryServerInterceptor) *Local {
	return &Local{methods: map[string]localMethod{}, jsonHandlers: jsonHandlers{}, around: around}
}

// RegisterService implements grpc.ServiceRegistrar.
func (l *Local) RegisterService(desc *grpc.ServiceDesc, server any) {
	for _, m := range desc.Methods {
		l.methods["/"+desc.ServiceName+"/"+m.MethodName] = localMethod{server: server, handler: m.Handler}
	}
}

// Has reports whether a method is registered.
func (l *Local) Has(method string) bool {
	_, ok := l.methods[method]
	return ok
}

// Call implements Caller. The handler receives the request itself, and Call returns the handler's response.
func (l *Local) Call(ctx context.Context, method string, request proto.Message) (proto.Message, Reply, error) {
	m, ok := l.methods[method]
	if !ok {
		return nil, Reply{}, status.Errorf(codes.Unimplemented, "call %s: unknown method", method)
	}
	ctx, stream := incoming(ctx, method)
	// The generated handler decodes a message of its own and passes it to the interceptor, which replaces it with the
	// caller's.
	response, err := m.handler(m.server, ctx, func(any) error { return nil },
		func(ctx context.Context, _ any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			return l.around.pass(ctx, request, info, handle)
		})
	if err != nil {
		return nil, replyOf(stream.header), asStatus(err)
	}
	return response.(proto.Message), replyOf(stream.header), nil
}

// CallJSON implements JSONCaller.
func (l *Local) CallJSON(ctx context.Context, method string, request proto.Message, dst []byte) ([]byte, proto.Message, Reply, error) {
	handle, ok := l.jsonHandlers[method]
	if !ok {
		response, reply, err := l.Call(ctx, method, request)
		return dst, response, reply, err
	}
	ctx, stream := incoming(ctx, method)
	info := &grpc.UnaryServerInfo{Server: l.methods[method].server, FullMethod: method}
	body, err := l.around.pass(ctx, request, info, func(ctx context.Context, request any) (any, error) {
		return handle(ctx, request, dst)
	})
	if err != nil {
		return dst, nil, replyOf(stream.header), asStatus(err)
	}
	return body.([]byte), nil, replyOf(stream.header), nil
}

// incoming returns the context of a handler: metadata that the caller sends arrives, and headers that the handler sets are collected.
func incoming(ctx context.Context, method string) (context.Context, *localStream) {
	stream := &localStream{method: method}
	md, _ := metadata.FromOutgoingContext(ctx)
	ctx = metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, nil), md)
	return grpc.NewContextWithServerTransportStream(ctx, stream), stream
}

// chain are interceptors, the first one outermost.
type chain []grpc.UnaryServerInterceptor

func (c chain) pass(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if len(c) == 0 {
		return handle(ctx, request)
	}
	return c[0](ctx, request, info, func(ctx context.Context, request any) (any, error) {
		return c[1:].pass(ctx, request, info, handle)
	})
}

// asStatus converts an error into a gRPC status, as gRPC does.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// localStream collects the headers of a handler.
type localStream struct {
	method string
	header metadata.MD
}

func (s *localStream) Method() string { return s.method }

func (s *localStream) SetHeader(md metadata.MD) error {
	s.header = metadata.Join(s.header, md)
	return nil
}

func (s *localStream) SendHeader(md metadata.MD) error { return s.SetHeader(md) }

func (s *localStream) SetTrailer(metadata.MD) error { return nil }

var (
	_ grpc.ServerTransportStream = (*localStream)(nil)
	_ Caller                     = (*Remote)(nil)
)
