// Package serverinfo implements the rpcs about the server itself: version, health and settings. They run in the
// gateway's process.
package serverinfo

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Server implements orchv1.ServerServiceServer.
type Server struct {
	orchv1.UnimplementedServerServiceServer
	// Version is the server's version.
	Version string
	// Vocabulary decides which version the server reports to clients.
	Vocabulary vocabulary.Vocabulary
	// Settings are the server's settings without secrets.
	Settings Settings
	// Tenants reports that callers have keys: only administrators of the server then read the settings of the operator.
	Tenants bool
	// Ready returns why the server cannot serve requests, nil when it can.
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

// PerformReadinessCheck implements orchv1.ServerServiceServer. The response hides the reason, which operators find on
// the internal address.
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

// ReadVersion implements orchv1.ServerServiceServer. Prefect's clients compare the major version before they write, so they
// get theirs: the refusal of the write says more.
func (s *Server) ReadVersion(ctx context.Context, _ *emptypb.Empty) (*orchv1.VersionResponse, error) {
	vocab := s.Vocabulary
	if info, err := request.Incoming(ctx); err == nil && (info.Expects == vocabulary.Prefect || vocabulary.Anonymous(info.UserAgent)) {
		vocab = vocabulary.Prefect
	}
	return &orchv1.VersionResponse{Version: vocab.ServerVersion(s.Version)}, nil
}

// ReadSettings implements orchv1.ServerServiceServer.
func (s *Server) ReadSettings(ctx context.Context, _ *emptypb.Empty) (*orchv1.Settings, error) {
	if s.Tenants {
		if info, err := request.Incoming(ctx); err != nil || !info.Caller.Administrator {
			return &orchv1.Settings{Values: s.Settings.Tenant}, nil //nolint:nilerr // An unknown caller reads what tenants may read.
		}
	}
	return &orchv1.Settings{Values: s.Settings.Operator}, nil
}

// CreateCsrfToken implements orchv1.ServerServiceServer. The server issues no token, because the guard checks the
// request's origin instead. Clients read this response as permission to send none.
func (*Server) CreateCsrfToken(context.Context, *orchv1.CreateCsrfTokenRequest) (*orchv1.CsrfToken, error) {
	return nil, rpc.Detail(http.StatusUnprocessableEntity, "CSRF protection is disabled.")
}
