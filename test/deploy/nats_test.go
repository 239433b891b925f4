package deploy_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

const natsConf = "deploy/nats/nats.conf"

// setPasswords sets the passwords of the users of NATS.
func setPasswords(t *testing.T) {
	t.Helper()
	for _, name := range []string{"", "_GATEWAY", "_HOOKS", "_ORCHESTRATION"} {
		t.Setenv("ORCH_NATS_PASSWORD"+name, "canary")
	}
}

// start runs a server with a configuration, on a free port and in a new directory.
func start(t *testing.T, conf string) *server.Server {
	t.Helper()
	o, err := server.ProcessConfigFile(conf)
	require.NoError(t, err)
	o.Host, o.Port, o.HTTPHost, o.HTTPPort = "127.0.0.1", server.RANDOM_PORT, "", 0
	o.StoreDir, o.NoSigs, o.NoLog = t.TempDir(), true, true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(30*time.Second))
	return s
}

func connect(t *testing.T, s *server.Server) error {
	t.Helper()
	c, err := broker.Connect(t.Context(), broker.Config{
		URL: s.ClientURL(), Options: []nats.Option{nats.UserInfo("orch", "canary")}, Logger: slog.New(slog.DiscardHandler),
		ConnectTimeout: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	return c.Close()
}

// The services accept the deployed server: it reports that it flushes before it acknowledges.
func TestNATSIsAccepted(t *testing.T) {
	setPasswords(t)
	s := start(t, filepath.Join(root, natsConf))
	require.True(t, s.JetStreamConfig().SyncAlways)
	require.NoError(t, connect(t, s))

	_, err := nats.Connect(s.ClientURL())
	require.ErrorIs(t, err, nats.ErrAuthorization, "nobody gets in without the password")
}

// Each setting of the guarantee is necessary: without it the services refuse the server.
func TestNATSWithoutASettingIsRefused(t *testing.T) {
	setPasswords(t)
	text, err := os.ReadFile(filepath.Join(root, natsConf))
	require.NoError(t, err)
	for _, test := range []struct {
		line string
		want error
	}{
		{"  sync_interval: always\n", broker.ErrLazySync},
		{"max_payload: 8MB\n", broker.ErrMaxPayload},
		{"      { service: { account: SYS, subject: \"$SYS.REQ.SERVER.PING.JSZ\" } }\n", broker.ErrSyncUnknown},
	} {
		t.Run(test.line, func(t *testing.T) {
			require.Contains(t, string(text), test.line)
			conf := filepath.Join(t.TempDir(), "nats.conf")
			require.NoError(t, os.WriteFile(conf, []byte(strings.Replace(string(text), test.line, "", 1)), 0o600))
			require.ErrorIs(t, connect(t, start(t, conf)), test.want, test.line)
		})
	}
}
