package suggest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/suggest"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"pushes", "pulls", "builds"}
	for name, want := range map[string]string{
		"pushs": "pushes", "puls": "pulls", "bulids": "builds", "pushes": "pushes", "orders": "", "": "",
	} {
		require.Equal(t, want, suggest.Nearest(name, names, 2), name)
	}
	require.Empty(t, suggest.Nearest("pushes", nil, 2))
}
