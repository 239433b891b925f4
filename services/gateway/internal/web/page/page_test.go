package page_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestLinks(t *testing.T) {
	t.Parallel()
	r := &page.Request{HTTP: httptest.NewRequest(http.MethodGet, "/runs?state=FAILED&older=x&did=y&count=1", nil), Base: "/orch"}
	for want, got := range map[string]string{
		"/orch/":                    r.To(),
		"/orch/runs/flow-run/a%2Fb": r.To("runs", "flow-run", "a/b"),
		"/orch/runs":                r.Path(),
		"/orch/runs?state=FAILED":   r.Here(),
		"/orch/runs?n=5":            r.Here("state", "", "n", "5"),
		"/orch/x?did=a+b":           r.Done("/orch/x", "a b", -1).Redirect,
		"/orch/x?q=1&did=a&count=0": r.Done("/orch/x?q=1", "a", 0).Redirect,
	} {
		require.Equal(t, want, got)
	}
}

func TestFieldsAndPermissions(t *testing.T) {
	t.Parallel()
	r := &page.Request{Form: url.Values{"name": {"  x "}}, Allowed: func(rpc string) bool { return rpc == "see" }}
	require.Equal(t, "x", r.Field("name"))
	require.True(t, r.May())
	require.True(t, r.May("see"))
	require.False(t, r.May("see", "manage"))
}

func TestProblem(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"No such run.":                                     rpc.Detail(404, "No such run."),
		"A part of this page took too long.":               rpc.Error(&orchv1.HttpError{Status: 504}),
		"A service that this page needs does not respond.": status.Error(codes.Unavailable, "away"),
		"The server refused the values. Too long.":         rpc.Invalid(rpc.BodyError("string_too_long", "Too long", "name")),
	} {
		require.Equal(t, want, page.Problem(err))
	}
	require.Empty(t, page.Problem(nil))
	require.Empty(t, page.Problem(apicall.ErrNotAllowed))
	require.NotContains(t, page.Problem(errors.New("secret")), "secret")
}
