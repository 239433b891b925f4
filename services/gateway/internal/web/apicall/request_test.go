package apicall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCallAsJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{\n  \"a\": \"<b>\"\n}", apicall.Request{Body: `{"a":"<b>"}`}.JSON())
	require.Empty(t, apicall.Request{}.JSON())
	require.Equal(t, "[1", apicall.Request{Body: "[1"}.JSON(), "a cut body stays as it is")
}
