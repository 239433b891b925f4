package embeddednats_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func options(t *testing.T) embeddednats.Options {
	t.Helper()
	return embeddednats.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, o embeddednats.Options) *embeddednats.Server {
	t.Helper()
	s, err := embeddednats.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// The settings reach the running server.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	require.True(t, s.SyncAlways())
	require.Empty(t, s.ClientURL())
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	require.NoError(t, err)
	defer nc.Close()
	require.EqualValues(t, embeddednats.DefaultMaxPayload, nc.MaxPayload())
	answer, err := nc.Request("$SYS.REQ.SERVER.PING.JSZ", nil, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(answer.Data), `"sync_always":true`)

	lazy := options(t)
	lazy.LazySyncForTests = true
	require.False(t, start(t, lazy).SyncAlways())
}

// A port is opened only when one is named.
func TestListen(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Listen = "127.0.0.1:0"
	s := start(t, o)
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	nc.Close()
}

// Clients of the process and those on TCP present the token.
func TestToken(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Listen, o.Token = "127.0.0.1:0", "hush"
	s := start(t, o)
	for _, with := range [][]nats.Option{nil, {nats.Token("guess")}, {nats.UserInfo("hush", "")}} {
		_, err := nats.Connect(s.ClientURL(), with...)
		require.ErrorIs(t, err, nats.ErrAuthorization)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.Token("hush"))
	require.NoError(t, err)
	nc.Close()
	nc, err = nats.Connect("", nats.InProcessServer(s), nats.Token("hush"))
	require.NoError(t, err)
	nc.Close()
}

// One directory has one server, and is free after Close.
func TestDirectoryIsLocked(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := start(t, o)
	_, err := embeddednats.Start(o)
	require.ErrorIs(t, err, embeddednats.ErrDirInUse)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	start(t, o)
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	taken := options(t)
	taken.Listen = "127.0.0.1:0"
	url := start(t, taken).ClientURL()
	for name, change := range map[string]func(*embeddednats.Options){
		"no directory":      func(o *embeddednats.Options) { o.Dir = "" },
		"a file":            func(o *embeddednats.Options) { o.Dir = file },
		"below a file":      func(o *embeddednats.Options) { o.Dir = filepath.Join(file, "x") },
		"no port":           func(o *embeddednats.Options) { o.Listen = "127.0.0.1" },
		"port out of range": func(o *embeddednats.Options) { o.Listen = "127.0.0.1:70000" },
		"port in use":       func(o *embeddednats.Options) { o.Listen = url[len("nats://"):] },
	} {
		o := options(t)
		change(&o)
		s, err := embeddednats.Start(o)
		require.Error(t, err, name)
		require.Nil(t, s, name)
	}
}
