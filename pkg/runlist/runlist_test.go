package runlist_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/runlist"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The bodies are queries of the contract.
func TestQueriesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	related := map[string]any{"deployments": map[string]any{"name": map[string]any{"any_": []string{"nightly"}}}}
	for name, c := range map[string]struct {
		list runlist.List
		sort orchv1.FlowRunSort
	}{
		"past":     {runlist.Past(), orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC},
		"upcoming": {runlist.Upcoming(), orchv1.FlowRunSort_FLOW_RUN_SORT_EXPECTED_START_TIME_ASC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(c.list.Query(related))
			require.NoError(t, err)
			var query orchv1.FlowRunQuery
			require.NoError(t, restjson.Unmarshal(body, &query))
			require.Equal(t, c.sort, query.GetSort())
			require.Equal(t, []string{"nightly"}, query.GetDeployments().GetName().GetAny_().GetValues())
			require.False(t, proto.Equal(&orchv1.FlowRunFilter{}, query.GetFlowRuns()))
		})
	}
}

// A caller may add members to a body, and the next one does not have them.
func TestQueriesAreIndependent(t *testing.T) {
	t.Parallel()
	first := runlist.Past().Query(nil)
	first["limit"] = 1
	delete(first["flow_runs"].(map[string]any), "state")
	second := runlist.Past().Query(nil)
	require.NotContains(t, second, "limit")
	require.Contains(t, second["flow_runs"], "state")
}
