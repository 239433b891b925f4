package randomname

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestNamesAreTwoWords(t *testing.T) {
	t.Parallel()
	for range 100 {
		require.Regexp(t, `^[a-z]+-[a-z]+$`, New())
	}
}
