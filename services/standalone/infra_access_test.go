package standalone_test

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/standalone"
)

func TestInfraRefusesOpenAddresses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]standalone.InfraConfig{
		"both":                  {MongoListen: "0.0.0.0:0", NATSListen: "0.0.0.0:0"},
		"store":                 {MongoListen: "0.0.0.0:0", NATSListen: "127.0.0.1:0"},
		"broker":                {MongoListen: "127.0.0.1:0", NATSListen: "[::]:0"},
		"an address of the LAN": {MongoListen: "192.0.2.1:0", NATSListen: "127.0.0.1:0"},
		"no host":               {MongoListen: ":0", NATSListen: "127.0.0.1:0"},
		"a name":                {MongoListen: "127.0.0.1:0", NATSListen: "orch.example.com:0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.DataDir = t.TempDir()
			_, err := standalone.NewInfra(cfg, quiet)
			require.ErrorContains(t, err, "--insecure")
			entries, err := os.ReadDir(cfg.DataDir)
			require.NoError(t, err)
			require.Empty(t, entries, "nothing is made")
		})
	}
}

func TestInfraRefusesACacheBelowZero(t *testing.T) {
	t.Parallel()
	cfg := standalone.InfraConfig{DataDir: t.TempDir(), MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", StoreCache: -1}
	_, err := standalone.NewInfra(cfg, quiet)
	require.ErrorContains(t, err, "--store-cache is -1")
}

// storeError lists the databases of a store with a connection string.
func storeError(t *testing.T, uri string) error {
	t.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(30 * time.Second))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Disconnect(t.Context())) }()
	_, err = client.ListDatabaseNames(t.Context(), bson.D{})
	return err
}

// brokerError connects to a broker.
func brokerError(address string) error {
	conn, err := nats.Connect(address)
	if err == nil {
		conn.Close()
	}
	return err
}

// with returns an address with other credentials; nil for none.
func with(t *testing.T, address string, user *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = user
	query := u.Query()
	if user == nil {
		query.Del("authMechanism")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func TestInfraDemandsCredentials(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ insecure bool }{"by default": {false}, "insecure": {true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			infra, stop := runInfraWith(t, standalone.InfraConfig{
				DataDir: t.TempDir(), MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Insecure: test.insecure,
			})
			defer stop()
			require.NoError(t, storeError(t, infra.MongoURI()))
			require.NoError(t, brokerError(infra.NATSURL()))
			require.Error(t, storeError(t, with(t, infra.MongoURI(), url.UserPassword("orch", "guess"))))
			require.Error(t, storeError(t, with(t, infra.MongoURI(), url.UserPassword("root", "guess"))))
			if test.insecure {
				require.NoError(t, storeError(t, with(t, infra.MongoURI(), nil)))
				require.NoError(t, brokerError(with(t, infra.NATSURL(), nil)))
				return
			}
			require.ErrorContains(t, storeError(t, with(t, infra.MongoURI(), nil)), "requires authentication")
			require.ErrorIs(t, brokerError(with(t, infra.NATSURL(), nil)), nats.ErrAuthorization)
			require.ErrorIs(t, brokerError(with(t, infra.NATSURL(), url.User("guess"))), nats.ErrAuthorization)
		})
	}
}

func TestCredentialsOfInfraSurviveARestart(t *testing.T) {
	t.Parallel()
	cfg := standalone.InfraConfig{DataDir: t.TempDir(), MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0"}
	first, stop := runInfraWith(t, cfg)
	user := func(address string) string {
		u, err := url.Parse(address)
		require.NoError(t, err)
		return u.User.String()
	}
	store, broker := user(first.MongoURI()), user(first.NATSURL())
	stop()
	second, stop := runInfraWith(t, cfg)
	defer stop()
	require.Equal(t, store, user(second.MongoURI()))
	require.Equal(t, broker, user(second.NATSURL()))
	for path, want := range map[string]string{second.MongoURIFile(): second.MongoURI(), second.NATSURLFile(): second.NATSURL()} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestInfraRefusesADamagedAddress(t *testing.T) {
	t.Parallel()
	cfg := standalone.InfraConfig{DataDir: t.TempDir(), MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0"}
	infra, stop := runInfraWith(t, cfg)
	stop()
	require.NoError(t, os.WriteFile(infra.MongoURIFile(), []byte("mongodb://hush\x7fhush"), 0o600))
	_, err := standalone.NewInfra(cfg, quiet)
	require.ErrorContains(t, err, "remove it")
	require.NotContains(t, err.Error(), "hush")
}
