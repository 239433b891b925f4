package processors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestThreads(t *testing.T) {
	for _, tt := range []struct {
		name           string
		count, machine int
		setting        string
		want           int
	}{
		{"one processor", 1, 1, "", 4},
		{"two processors", 2, 2, "", 8},
		{"four processors", 4, 4, "", 8},
		{"as many as are enough", 8, 8, "", 8},
		{"more than are enough", 32, 32, "", 32},
		{"a container with a limit", 2, 32, "", 2},
		{"a setting of the operator", 2, 2, "2", 2},
		{"a larger setting of the operator", 16, 2, "16", 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, threads(tt.count, tt.machine, tt.setting))
		})
	}
}
