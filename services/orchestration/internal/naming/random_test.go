package naming_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/naming"
)

func TestNamesAreTwoWords(t *testing.T) {
	t.Parallel()
	for range 100 {
		require.Regexp(t, `^[a-z]+-[a-z]+$`, naming.Random())
	}
}
