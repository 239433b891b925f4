package broker_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// refused requires that Connect fails with target.
func refused(t *testing.T, cfg broker.Config, target error) {
	t.Helper()
	cfg.Logger = quiet()
	c, err := broker.Connect(t.Context(), cfg)
	require.ErrorIs(t, err, target)
	require.Nil(t, c)
}

func accepted(t *testing.T, cfg broker.Config) *broker.Conn {
	t.Helper()
	cfg.Logger = quiet()
	c, err := broker.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestConnectRefusesLazySync(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{LazySyncForTests: true})
	require.False(t, n.Server().SyncAlways())
	refused(t, broker.Config{InProcess: n}, broker.ErrLazySync)
	accepted(t, broker.Config{InProcess: n, AllowLazySync: true})
}

func TestConnectRefusesSmallPayload(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{MaxPayload: 1 << 20})
	refused(t, broker.Config{InProcess: n}, broker.ErrMaxPayload)
}

// startDeployed starts a nats-server from a configuration file, as operators do.
func startDeployed(t *testing.T, config string) (url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	config = fmt.Sprintf("listen: 127.0.0.1:-1\nmax_payload: 8MB\n%s\n", config)
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	opts, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	opts.NoSigs, opts.NoLog, opts.StoreDir = true, true, t.TempDir()
	s, err := server.NewServer(opts)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s.ClientURL()
}

const deployedAccounts = `
accounts {
  SYS  { exports: [ { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream } ] }
  ORCH { jetstream: enabled
         users:   [ { user: orch, password: secret } ]
         imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ] }
}
system_account: SYS
`

func TestConnectDeployed(t *testing.T) {
	t.Parallel()
	login := []nats.Option{nats.UserInfo("orch", "secret")}
	t.Run("flushes before the ack", func(t *testing.T) {
		t.Parallel()
		url := startDeployed(t, "jetstream { sync_interval: always }"+deployedAccounts)
		accepted(t, broker.Config{URL: url, Options: login})
	})
	t.Run("flushes later", func(t *testing.T) {
		t.Parallel()
		url := startDeployed(t, "jetstream { sync_interval: 2m }"+deployedAccounts)
		refused(t, broker.Config{URL: url, Options: login}, broker.ErrLazySync)
	})
	t.Run("does not tell", func(t *testing.T) {
		t.Parallel()
		url := startDeployed(t, "jetstream { sync_interval: always }")
		refused(t, broker.Config{URL: url}, broker.ErrSyncUnknown)
		accepted(t, broker.Config{URL: url, AllowLazySync: true})
	})
	t.Run("has no JetStream", func(t *testing.T) {
		t.Parallel()
		refused(t, broker.Config{URL: startDeployed(t, "")}, broker.ErrNoJetStream)
		url := startDeployed(t, "jetstream { sync_interval: always }\naccounts { ORCH { users: [ { user: orch, password: secret } ] } }")
		refused(t, broker.Config{URL: url, Options: login}, broker.ErrNoJetStream)
	})
	t.Run("refuses the password", func(t *testing.T) {
		t.Parallel()
		url := startDeployed(t, "jetstream { sync_interval: always }"+deployedAccounts)
		refused(t, broker.Config{URL: url, Options: []nats.Option{nats.UserInfo("orch", "wrong")}}, broker.ErrRefused)
	})
	t.Run("has no TLS", func(t *testing.T) {
		t.Parallel()
		url := startDeployed(t, "jetstream { sync_interval: always }"+deployedAccounts)
		refused(t, broker.Config{URL: strings.Replace(url, "nats://", "tls://", 1), Options: login}, broker.ErrRefused)
	})
}

// TLS to a deployed server: the CA and the client certificate are files, and a wrong one ends the start with the remedy.
func TestConnectOverTLS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority, other := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	served := authority.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	client := authority.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	foreign := other.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	url := strings.Replace(startDeployed(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\njetstream { sync_interval: always }",
		served.Cert, served.Key, served.CA)+deployedAccounts), "://", "://orch:secret@", 1)
	require.Contains(t, url, "tls://")

	settings := broker.Settings{URL: url, CA: client.CA, Cert: client.Cert, Key: client.Key}
	require.NoError(t, settings.Validate())
	accepted(t, settings.Config("test", quiet()))

	untrusted := settings
	untrusted.CA = foreign.CA
	refused(t, untrusted.Config("test", quiet()), broker.ErrRefused)
	for want, s := range map[string]broker.Settings{
		"ORCH_NATS_CA":          {CA: client.CA + ".missing"},
		"no certificate in PEM": {CA: client.Key},
		"set both":              {Cert: client.Cert},
		"private key does not":  {Cert: client.Cert, Key: foreign.Key},
		"ORCH_NATS_CREDENTIALS": {Credentials: client.CA + ".missing"},
		"must not be negative":  {Shards: -1},
	} {
		require.ErrorContains(t, s.Validate(), want)
	}
}

func TestConnectWithoutServer(t *testing.T) {
	t.Parallel()
	start := time.Now()
	refused(t, broker.Config{URL: "nats://127.0.0.1:1", ConnectTimeout: 300 * time.Millisecond}, broker.ErrUnavailable)
	require.Less(t, time.Since(start), 5*time.Second)
}

// A broker that is away at the start is one line in the log, and another one when it is there.
func TestConnectWaitsForServer(t *testing.T) {
	t.Parallel()
	away := &absentServer{asked: make(chan struct{}, 100)}
	var log syncBuffer
	connected := make(chan error, 1)
	go func() {
		c, err := broker.Connect(t.Context(), broker.Config{
			InProcess: away, ConnectTimeout: broker.Forever, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err == nil {
			err = c.Close()
		}
		connected <- err
	}()
	for range 3 {
		<-away.asked
	}
	away.server.Store(testkit.StartNATS(t, embeddednats.Options{}))
	require.NoError(t, <-connected)
	require.Equal(t, 1, strings.Count(log.String(), "failed to connect"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "is available"), log.String())
}

// absentServer refuses connections until it has a server.
type absentServer struct {
	asked  chan struct{}
	server atomic.Pointer[testkit.NATS]
}

func (a *absentServer) InProcessConn() (net.Conn, error) {
	if n := a.server.Load(); n != nil {
		return n.InProcessConn()
	}
	select {
	case a.asked <- struct{}{}:
	default:
	}
	return nil, errors.New("away")
}

// syncBuffer is a log that a test reads while others write.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestConnectBadConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]broker.Config{
		"no server":       {},
		"bad durable":     {URL: "x", Durables: []string{"a.b"}},
		"empty durable":   {URL: "x", Durables: []string{""}},
		"negative shards": {URL: "x", Shards: -1},
		"negative size":   {URL: "x", MaxBytes: -1},
	} {
		_, err := broker.Connect(t.Context(), cfg)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, broker.ErrUnavailable, name)
	}
}

// admin is a plain client of the same server.
func admin(t *testing.T, n *testkit.NATS) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(n))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js
}

func TestConnectRefusesUnfitStream(t *testing.T) {
	t.Parallel()
	fit := jetstream.StreamConfig{
		Name: broker.StreamEvents, Subjects: []string{"events.*"}, Retention: jetstream.InterestPolicy,
		Discard: jetstream.DiscardNew,
	}
	for name, spoil := range map[string]func(*jetstream.StreamConfig){
		"retention":    func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy },
		"discard":      func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"storage":      func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"max_age":      func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"max_msgs":     func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 },
		"persist_mode": func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testkit.StartNATS(t, embeddednats.Options{})
			cfg := fit
			spoil(&cfg)
			_, err := admin(t, n).CreateStream(t.Context(), cfg)
			require.NoError(t, err)
			refused(t, broker.Config{InProcess: n}, broker.ErrStreamMismatch)
		})
	}
}

func TestConnectTogether(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := broker.Connect(t.Context(), broker.Config{InProcess: n, Logger: quiet()})
			if err != nil {
				t.Errorf("connecting: %v", err)
				return
			}
			_, err = c.KeyValue(t.Context(), "same", broker.KVConfig{})
			if err != nil {
				t.Errorf("opening a bucket: %v", err)
			}
			_ = c.Close()
		})
	}
	wg.Wait()
}

func TestStreamSize(t *testing.T) {
	t.Parallel()
	const limit = 1 << 30
	n := testkit.StartNATS(t, embeddednats.Options{StoreLimit: limit})
	js := admin(t, n)
	size := func() int64 {
		s, err := js.Stream(t.Context(), broker.StreamEvents)
		require.NoError(t, err)
		return s.CachedInfo().Config.MaxBytes
	}
	accepted(t, broker.Config{InProcess: n})
	require.LessOrEqual(t, size(), int64(limit))
	require.GreaterOrEqual(t, size(), int64(limit/8), "it takes a good part of what there is")

	accepted(t, broker.Config{InProcess: n, MaxBytes: 64 << 20})
	require.EqualValues(t, 64<<20, size())
	accepted(t, broker.Config{InProcess: n})
	require.EqualValues(t, 64<<20, size(), "an existing limit is kept")
	refused(t, broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{StoreLimit: limit}), MaxBytes: 2 * limit},
		broker.ErrUnavailable)
}
