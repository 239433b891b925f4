package rpc_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/tlsfiles"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Calls need a certificate of the services' authority, on both sides.
func TestMutualTLS(t *testing.T) {
	now, quiet := time.Now(), slog.New(slog.DiscardHandler)
	load := func(a *testkit.Authority, names ...string) *tlsfiles.Files {
		c := a.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour), names...)
		files, err := tlsfiles.Load(tlsfiles.Settings{Cert: c.Cert, Key: c.Key, CA: c.CA}, tlsfiles.Options{Log: quiet})
		require.NoError(t, err)
		return files
	}
	ours, others := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	s := rpc.NewSecureServer(rpc.ServerCredentials(load(ours)))
	orchv1.RegisterFlowServiceServer(s, &flows{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()

	dial := func(files *tlsfiles.Files) error {
		conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Credentials: rpc.ClientCredentials(files, quiet), Wait: time.Second, Log: quiet})
		require.NoError(t, err)
		err = createFlow(t, conn)
		require.NoError(t, conn.Close())
		return err
	}
	require.NoError(t, dial(load(ours)))
	require.Equal(t, codes.Unavailable, status.Code(dial(load(others))), "a certificate of another authority")
	require.Equal(t, codes.Unavailable, status.Code(dial(nil)), "no TLS")
	cancel()
	require.NoError(t, <-done)
}

// TestOnlyNamedClientsMayCall: a certificate of the services' own authority is not enough.
func TestOnlyNamedClientsMayCall(t *testing.T) {
	now, quiet := time.Now(), slog.New(slog.DiscardHandler)
	authority := testkit.NewAuthority(t, now)
	load := func(names ...string) *tlsfiles.Files {
		c := authority.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour), names...)
		files, err := tlsfiles.Load(tlsfiles.Settings{Cert: c.Cert, Key: c.Key, CA: c.CA}, tlsfiles.Options{Log: quiet})
		require.NoError(t, err)
		return files
	}
	for name, test := range map[string]struct {
		clients []string
		caller  *tlsfiles.Files
		want    codes.Code
	}{
		"the gateway":                  {[]string{"gateway"}, load("gateway"), codes.OK},
		"in other letters":             {[]string{"Gateway"}, load("GATEWAY"), codes.OK},
		"one of several":               {[]string{"edge", "gateway.orch.svc"}, load("a", "gateway.orch.svc"), codes.OK},
		"by the common name":           {[]string{"service"}, load(), codes.OK},
		"another service":              {[]string{"gateway"}, load("hooks"), codes.Unavailable},
		"a name that contains another": {[]string{"gateway"}, load("gateway.evil.example", "agateway"), codes.Unavailable},
		"a wildcard":                   {[]string{"gateway.orch"}, load("*.orch"), codes.Unavailable},
		"no names":                     {nil, load("hooks"), codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			s := rpc.NewSecureServer(rpc.ServerCredentials(load("orchestration"), test.clients...))
			orchv1.RegisterFlowServiceServer(s, &flows{})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Serve(ctx, ln) }()
			conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Credentials: rpc.ClientCredentials(test.caller, quiet), Wait: time.Second, Log: quiet})
			require.NoError(t, err)
			require.Equal(t, test.want, status.Code(createFlow(t, conn)))
			require.NoError(t, conn.Close())
			cancel()
			require.NoError(t, <-done)
		})
	}
}
