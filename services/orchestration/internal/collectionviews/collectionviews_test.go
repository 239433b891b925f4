package collectionviews_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/collectionviews"
	"github.com/orch-project/orch/services/orchestration/internal/jobtemplate"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Both operations return the same document. Its template of every worker type parses, declares the variables that it uses,
// and works without variables of the client.
func TestWorkerTypes(t *testing.T) {
	t.Parallel()
	s := collectionviews.New()
	view, err := s.ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: "aggregate-worker-metadata"})
	require.NoError(t, err)
	types, err := s.ReadWorkPoolTypes(t.Context(), nil)
	require.NoError(t, err)
	require.JSONEq(t, string(types.GetContent()), string(view.GetContent()))

	var packages map[string]map[string]struct {
		Type     string          `json:"type"`
		Template json.RawMessage `json:"default_base_job_configuration"`
	}
	require.NoError(t, json.Unmarshal(view.GetContent(), &packages))
	require.NotEmpty(t, packages)
	for _, workers := range packages {
		for name, worker := range workers {
			require.Equal(t, name, worker.Type)
			template, err := jobtemplate.Parse(worker.Template)
			require.NoError(t, err, name)
			require.NoError(t, template.CheckDefaults(), name)
			require.NoError(t, template.CheckVariables(true, nil), "%s has no required variable", name)
		}
	}
}

func TestUnknownView(t *testing.T) {
	t.Parallel()
	_, err := collectionviews.New().ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: "no-such-view"})
	require.EqualValues(t, http.StatusNotFound, rpc.HTTPError(err).GetStatus())
}
