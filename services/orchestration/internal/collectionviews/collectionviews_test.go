package collectionviews_test

import (
	"encoding/json"
	"net/http"
	"strings"
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
			require.NoError(t, template.CheckDefaults(nil), name)
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

// The view of block types has those of a new server, each with its released schema.
func TestBlockTypesByPackage(t *testing.T) {
	t.Parallel()
	var packages map[string]struct {
		Types map[string]struct {
			Name, Slug, Description string
			Schema                  struct {
				Checksum, Version string
				Fields            struct {
					Slug       string `json:"block_type_slug"`
					Properties map[string]json.RawMessage
				}
			} `json:"block_schema"`
		} `json:"block_types"`
	}
	require.NoError(t, json.Unmarshal(read(t, "aggregate-block-metadata"), &packages))
	count := 0
	for name, one := range packages {
		require.Regexp(t, "^prefect(-[a-z]+)?$", name)
		for slug, kind := range one.Types {
			count++
			require.Equal(t, slug, kind.Slug)
			require.NotEmpty(t, kind.Name, slug)
			require.NotEmpty(t, kind.Description, slug)
			require.Regexp(t, "^sha256:[0-9a-f]{64}$", kind.Schema.Checksum, slug)
			require.Regexp(t, `^\d+\.\d+\.\d+$`, kind.Schema.Version, slug)
			require.Equal(t, slug, kind.Schema.Fields.Slug)
			require.NotEmpty(t, kind.Schema.Fields.Properties, slug)
		}
	}
	require.Equal(t, 54, count)
	require.Contains(t, packages["prefect-aws"].Types, "s3-bucket")
	require.Contains(t, packages["prefect"].Types, "secret")
}

// The view of flows states where each one is and which parameters it has.
func TestFlowsByPackage(t *testing.T) {
	t.Parallel()
	var packages map[string]map[string]struct {
		Name, Entrypoint string
		Description      struct{ Summary string }
		Parameters       struct {
			Properties map[string]struct{ Position int }
			Required   []string
		}
	}
	require.NoError(t, json.Unmarshal(read(t, "aggregate-flow-metadata"), &packages))
	require.Contains(t, packages["prefect-dbt"], "run_dbt_cloud_job")
	for name, flows := range packages {
		require.NotEmpty(t, flows, name)
		for function, flow := range flows {
			require.Equal(t, strings.ReplaceAll(function, "_", "-"), flow.Name)
			require.Regexp(t, `^[a-z_/]+\.py:`+function+"$", flow.Entrypoint)
			require.NotEmpty(t, flow.Description.Summary, function)
			for _, required := range flow.Parameters.Required {
				require.Contains(t, flow.Parameters.Properties, required, function)
			}
		}
	}
}

func read(t *testing.T, view string) []byte {
	t.Helper()
	content, err := collectionviews.New().ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: view})
	require.NoError(t, err)
	return content.GetContent()
}

func TestAbsentViews(t *testing.T) {
	t.Parallel()
	for view, detail := range map[string]string{
		"no-such-view": "View no-such-view not found in registry",
		"demo-flows":   "Requested content missing for view demo-flows",
	} {
		_, err := collectionviews.New().ReadViewContent(t.Context(), &orchv1.ReadViewContentRequest{View: view})
		require.EqualValues(t, http.StatusNotFound, rpc.HTTPError(err).GetStatus())
		require.Equal(t, detail, rpc.HTTPError(err).GetDetail())
	}
}
