package client_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/test/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestReadmeScript runs the README's script with a client that was generated from the OpenAPI document.
func TestReadmeScript(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, client.Script(ctx, serverURL(t)))
}

// TestClientIsSmall bounds what a generator makes of the core.
func TestClientIsSmall(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("client.gen.go")
	require.NoError(t, err)
	require.Less(t, bytes.Count(code, []byte("\n")), 10_000)
}

// serverURL gives the address of a running server's API.
func serverURL(t *testing.T) string {
	t.Helper()
	url := os.Getenv("ORCH_TEST_URL")
	if url == "" {
		t.Skip("ORCH_TEST_URL names no server")
	}
	return url
}
