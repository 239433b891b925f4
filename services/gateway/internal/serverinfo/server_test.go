package serverinfo_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/serverinfo"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Readiness says that, not why: the reason is for operators.
func TestReadiness(t *testing.T) {
	t.Parallel()
	var why error
	s := &serverinfo.Server{Ready: func() error { return why }}
	ready, err := s.PerformReadinessCheck(t.Context(), &emptypb.Empty{})
	require.NoError(t, err)
	require.JSONEq(t, `{"message": "OK"}`, string(ready.GetReadiness()))

	why = errors.New("mongodb://ada:secret@db:27017 does not answer")
	_, err = s.PerformReadinessCheck(t.Context(), &emptypb.Empty{})
	answer := rpc.HTTPError(err)
	require.Equal(t, int32(http.StatusServiceUnavailable), answer.GetStatus())
	require.JSONEq(t, `{"message": "Not ready"}`, string(answer.GetBody()))
	require.Equal(t, "1", answer.GetHeaders()["Retry-After"])

	alive, err := s.HealthCheck(t.Context(), &emptypb.Empty{})
	require.NoError(t, err)
	require.True(t, alive.GetHealthy(), "a process that waits for its broker must not be killed for it")
}

// Existing clients compare the server's version with their own.
func TestVersions(t *testing.T) {
	t.Parallel()
	for vocab, want := range map[vocabulary.Vocabulary]string{
		vocabulary.Orch:    "1.2.3",
		vocabulary.Prefect: vocabulary.Prefect.ServerVersion("1.2.3"),
	} {
		s := &serverinfo.Server{Version: "1.2.3", Vocabulary: vocab}
		own, err := s.ReadVersion(t.Context(), &emptypb.Empty{})
		require.NoError(t, err)
		require.Equal(t, want, own.GetVersion())
		api, err := s.ServerVersion(t.Context(), &emptypb.Empty{})
		require.NoError(t, err)
		require.Equal(t, vocabulary.APIVersion, api.GetVersion())
	}
	require.NotEqual(t, "1.2.3", vocabulary.Prefect.ServerVersion("1.2.3"))
}

// Clients that ask for a CSRF token take exactly this answer as leave to send none.
func TestCSRFTokensAreDisabled(t *testing.T) {
	t.Parallel()
	_, err := (&serverinfo.Server{}).CreateCsrfToken(t.Context(), &orchv1.CreateCsrfTokenRequest{})
	answer := rpc.HTTPError(err)
	require.Equal(t, int32(http.StatusUnprocessableEntity), answer.GetStatus())
	require.Contains(t, answer.GetDetail(), "CSRF protection is disabled.")
}
