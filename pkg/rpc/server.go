package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// maxMessage bounds one message in bytes. A page of 200 runs with 512 KiB of parameters each would exceed it and
// returns an error.
const maxMessage = 64 << 20

// Server serves services over gRPC, with the standard health service.
type Server struct {
	jsonHandlers

	grpc   *grpc.Server
	health *health.Server
}

// NewServer returns a plaintext server that runs every call through the interceptors, the first one outermost.
func NewServer(around ...grpc.UnaryServerInterceptor) *Server {
	return NewSecureServer(insecure.NewCredentials(), around...)
}

// NewSecureServer is NewServer with the credentials of its connections.
func NewSecureServer(secure credentials.TransportCredentials, around ...grpc.UnaryServerInterceptor) *Server {
	encoders := jsonHandlers{}
	s := &Server{
		jsonHandlers: encoders,
		grpc: grpc.NewServer(
			grpc.Creds(secure),
			grpc.ForceServerCodecV2(messages),
			grpc.ChainUnaryInterceptor(append(slices.Clip(around), encoders.intercept)...),
			grpc.MaxRecvMsgSize(maxMessage),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		),
		health: health.NewServer(),
	}
	healthpb.RegisterHealthServer(s.grpc, s.health)
	return s
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, server any) {
	s.grpc.RegisterService(desc, server)
}

// Serve serves calls until ctx ends, then drains those in flight.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.health.Shutdown()
		s.grpc.GracefulStop()
	})
	err := s.grpc.Serve(ln)
	if !stop() {
		<-stopped
	}
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Stop aborts calls in flight, for a drain that takes too long.
func (s *Server) Stop() { s.grpc.Stop() }

// Recover turns a handler's panic into an internal error, so one bad request does not end the process.
func Recover(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
		defer func() {
			if p := recover(); p != nil {
				log.ErrorContext(ctx, "handler panicked", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "internal error")
			}
		}()
		return handler(ctx, request)
	}
}
