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

// needs lists the variables without which a run of a type cannot start.
var needs = map[string][]string{"azure-container-instance": {"resource_group_name", "subscription_id"}, "vertex-ai": {"region", "image"}}

// Both operations return the same document. Its template of every worker type parses and declares the variables that it uses.
func TestWorkerTypes(t *testing.T) {
	t.Parallel()
	s := collectionviews.New()
	view, err := s.ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: "aggregate-worker-metadata"})
	require.NoError(t, err)
	types, err := s.ReadWorkPoolTypes(t.Context(), nil)
	require.NoError(t, err)
	require.JSONEq(t, string(types.GetContent()), string(view.GetContent()))

	var packages map[string]map[string]struct {
		Type        string          `json:"type"`
		Name        string          `json:"display_name"`
		Description string          `json:"description"`
		Logo        string          `json:"logo_url"`
		Manual      string          `json:"documentation_url"`
		Install     string          `json:"install_command"`
		Template    json.RawMessage `json:"default_base_job_configuration"`
	}
	require.NoError(t, json.Unmarshal(view.GetContent(), &packages))
	var names []string
	for packageName, workers := range packages {
		for name, worker := range workers {
			names = append(names, name)
			require.Equal(t, name, worker.Type)
			require.NotEmpty(t, worker.Name, name)
			require.NotEmpty(t, worker.Description, name)
			require.Regexp(t, "^data:image/svg\\+xml,%3Csvg", worker.Logo, name)
			require.Regexp(t, "^https://", worker.Manual, name)
			require.Equal(t, "pip install "+packageName, worker.Install)
			template, err := jobtemplate.Parse(worker.Template)
			require.NoError(t, err, name)
			require.NoError(t, template.CheckDefaults(), name)
			given := map[string]any{}
			for _, variable := range needs[name] {
				given[variable] = "x"
			}
			text, err := json.Marshal(given)
			require.NoError(t, err)
			require.NoError(t, template.CheckVariables(true, text), name)
			require.Equal(t, len(given) > 0, template.CheckVariables(true, nil) != nil, name)
		}
	}
	require.ElementsMatch(t, []string{
		"process", "docker", "kubernetes", "ecs", "azure-container-instance", "cloud-run", "cloud-run-v2", "vertex-ai",
	}, names)
}

func TestUnknownView(t *testing.T) {
	t.Parallel()
	_, err := collectionviews.New().ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: "no-such-view"})
	require.EqualValues(t, http.StatusNotFound, rpc.HTTPError(err).GetStatus())
}
