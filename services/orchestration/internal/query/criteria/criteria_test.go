package criteria_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query/criteria"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCriteriaOfAFilter(t *testing.T) {
	t.Parallel()
	filter := &orchv1.FlowRunFilter{}
	var names []string
	for _, p := range criteria.Of(filter.ProtoReflect().Descriptor()) {
		names = append(names, p.String())
	}
	require.Contains(t, names, "state.type.not_any_")
	require.Contains(t, names, "created_by.is_null_")
	require.NotContains(t, names, "state.operator")
	require.IsIncreasing(t, []int{0, len(names)})
}

func TestLeafIsMadeWithinTheFilter(t *testing.T) {
	t.Parallel()
	filter := &orchv1.FlowRunFilter{}
	for _, p := range criteria.Of(filter.ProtoReflect().Descriptor()) {
		leaf, fd := p.Leaf(filter.ProtoReflect())
		require.Equal(t, leaf.Descriptor(), fd.Parent())
	}
	require.NotNil(t, filter.GetState().GetName())
}
