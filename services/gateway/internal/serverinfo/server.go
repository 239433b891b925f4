// Package serverinfo answers what the server says of itself. It is a service like any other, in the gateway's own process.
package serverinfo

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Server implements orchv1.ServerServiceServer.
type Server struct {
	orchv1.UnimplementedServerServiceServer
	// Version is the server's own.
	Version string
	// Vocabulary decides which version clients are told.
	Vocabulary vocabulary.Vocabulary
	// Settings are what the server runs with, as a JSON object of names and values without secrets.
	Settings []byte
	// Ready returns why requests cannot be served, nil when they can.
	Ready func() error
}

// Hello implements orchv1.ServerServiceServer.
func (*Server) Hello(context.Context, *emptypb.Empty) (*orchv1.HelloResponse, error) {
	return &orchv1.HelloResponse{Greeting: "👋"}, nil
}

// HealthCheck implements orchv1.ServerServiceServer.
func (*Server) HealthCheck(context.Context, *emptypb.Empty) (*orchv1.HealthResponse, error) {
	return &orchv1.HealthResponse{Healthy: true}, nil
}

// PerformReadinessCheck implements orchv1.ServerServiceServer. What is not ready is for operators, on the internal
// address; strangers learn only that it is so.
func (s *Server) PerformReadinessCheck(context.Context, *emptypb.Empty) (*orchv1.ReadyResponse, error) {
	if s.Ready() != nil {
		return nil, rpc.Error(&orchv1.HttpError{
			Status:  http.StatusServiceUnavailable,
			Form:    &orchv1.HttpError_Body{Body: []byte(`{"message":"Not ready"}`)},
			Headers: map[string]string{"Retry-After": "1"},
		})
	}
	return &orchv1.ReadyResponse{Readiness: []byte(`{"message":"OK"}`)}, nil
}

// ServerVersion implements orchv1.ServerServiceServer.
func (*Server) ServerVersion(context.Context, *emptypb.Empty) (*orchv1.VersionResponse, error) {
	return &orchv1.VersionResponse{Version: vocabulary.APIVersion}, nil
}

// ReadVersion implements orchv1.ServerServiceServer.
func (s *Server) ReadVersion(context.Context, *emptypb.Empty) (*orchv1.VersionResponse, error) {
	return &orchv1.VersionResponse{Version: s.Vocabulary.ServerVersion(s.Version)}, nil
}

// ReadSettings implements orchv1.ServerServiceServer.
func (s *Server) ReadSettings(context.Context, *emptypb.Empty) (*orchv1.Settings, error) {
	return &orchv1.Settings{Values: s.Settings}, nil
}

// CreateCsrfToken implements orchv1.ServerServiceServer. Nobody asks for such a token: the guard looks at where a request
// comes from instead. Clients read this answer as leave to send none.
func (*Server) CreateCsrfToken(context.Context, *orchv1.CreateCsrfTokenRequest) (*orchv1.CsrfToken, error) {
	return nil, rpc.Detail(http.StatusUnprocessableEntity, "CSRF protection is disabled.")
}
