package embeddedmongo_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// start opens a server on a directory and connects the official driver to it in memory; both end with the test.
func start(t testing.TB, dir string, o embeddedmongo.Options) (*embeddedmongo.Server, *mongo.Client) {
	t.Helper()
	s, err := embeddedmongo.Open(dir, o)
	require.NoError(t, err)
	cl := connect(t, s)
	t.Cleanup(func() {
		require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
		require.NoError(t, s.Close())
	})
	return s, cl
}

func connect(t testing.TB, s *embeddedmongo.Server) *mongo.Client {
	t.Helper()
	cl, err := mongo.Connect(options.Client().ApplyURI(s.URI()).SetDialer(s.ContextDialer()))
	require.NoError(t, err)
	return cl
}
