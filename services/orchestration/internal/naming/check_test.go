package naming_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestNames(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct{ dashed, underscored bool }{
		"":             {true, true},
		"a-1":          {true, true},
		"a_1":          {false, true},
		"A":            {false, false},
		"a b":          {false, false},
		"ü":            {false, false},
		"a\n":          {false, false},
		"a/b":          {false, false},
		"{{ a }}":      {false, false},
		"a.b":          {false, false},
		"\x00":         {false, false},
		"12345-67890-": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, is.dashed, naming.Dashed(name, "Key", "key") == nil, "%q", name)
			require.Equal(t, is.underscored, naming.DashedOrUnderscored(name, "Name", "name") == nil, "%q", name)
		})
	}
	fieldError := rpc.HTTPError(naming.Dashed("A", "Key", "key"))
	require.EqualValues(t, 422, fieldError.GetStatus())
	require.Contains(t, fieldError.String(), "Key must only contain lowercase letters, numbers, and dashes.")
}
