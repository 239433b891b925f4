package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/services/standalone/internal/control"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// databaseName is the single binary's database.
const databaseName = "orch"

// infra is the embedded broker and the embedded store.
type infra struct {
	nats  *embeddednats.Server
	store *embeddedmongo.Server
}

// openInfra starts both on a data directory, concurrently. The options choose the broker's address and token, and the store's cache; with
// NoSync neither syncs.
func openInfra(dir datadir.Dir, options embeddednats.Options, ofStore embeddedmongo.Options, log *slog.Logger) (_ *infra, err error) {
	i := &infra{}
	started := make(chan error, 1)
	go func() {
		var err error
		options.Dir, options.LazySyncForTests, options.Logger = dir.NATS(), ofStore.NoSync, log
		i.nats, err = embeddednats.Start(options)
		started <- err
	}()
	ofStore.Logger = log
	store, storeErr := embeddedmongo.Open(dir.Store(), ofStore)
	natsErr := <-started
	i.store = store
	if err := errors.Join(storeErr, natsErr); err != nil {
		return nil, errors.Join(fmt.Errorf("open the data directory %s: %w%s", dir.Path, err, remedy(err)), i.Close())
	}
	return i, nil
}

// remedy is the end of the message of a data directory that cannot be opened.
func remedy(err error) string {
	for _, sound := range []error{embeddedmongo.ErrInUse, embeddedmongo.ErrFormat, embeddednats.ErrDirInUse, fs.ErrPermission, syscall.ENOSPC} {
		if errors.Is(err, sound) {
			return ""
		}
	}
	return " (orch doctor --data-dir DIR tells what is damaged, and repairs it)"
}

// openParts starts the store on a data directory, and the broker too if streams is set.
func openParts(dir datadir.Dir, streams bool, log *slog.Logger) (*infra, error) {
	if streams {
		return openInfra(dir, embeddednats.Options{}, embeddedmongo.Options{}, log)
	}
	store, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return nil, fmt.Errorf("open the data directory %s: %w", dir.Path, err)
	}
	return &infra{store: store}, nil
}

// Close stops both. Acknowledged data is on disk already.
func (i *infra) Close() error {
	var errs []error
	if i.nats != nil {
		errs = append(errs, i.nats.Close())
	}
	if i.store != nil {
		errs = append(errs, i.store.Close())
	}
	return errors.Join(errs...)
}

// InfraConfig holds the settings of the embedded parts that three separate services need.
type InfraConfig struct {
	DataDir     string
	MongoListen string
	NATSListen  string
	// StoreCache is the memory for decompressed blocks of the store, in bytes; 0 means its default.
	StoreCache int64
	// Insecure allows addresses that other machines reach, and clients without the passwords.
	Insecure bool
}

// errInfraExposed refuses an address, because the connections are plaintext.
var errInfraExposed = errors.New("whoever reaches it reads and writes all data; run NATS and MongoDB with TLS, or allow it with --insecure")

// check refuses addresses beyond loopback.
func (c InfraConfig) check() error {
	if c.StoreCache < 0 {
		return fmt.Errorf("--store-cache is %d, want a number of bytes", c.StoreCache)
	}
	if c.Insecure {
		return nil
	}
	for _, address := range []string{c.MongoListen, c.NATSListen} {
		if err := tlsfiles.CheckPlaintext(address); err != nil {
			return fmt.Errorf("%w: %w", err, errInfraExposed)
		}
	}
	return nil
}

// Infra is the embedded broker and store on TCP, for services that run as separate processes.
type Infra struct {
	infra  *infra
	ln     net.Listener
	access access
	socket *control.Server
	dir    datadir.Dir
	log    *slog.Logger
}

// NewInfra opens the data directory and both addresses. The caller either runs it or closes it.
func NewInfra(cfg InfraConfig, log *slog.Logger) (_ *Infra, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	dir, err := datadir.OpenAny(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	if _, err := secrets.File(dir.SecretsFile()); err != nil {
		return nil, err
	}
	access, err := newAccess(dir, cfg.Insecure)
	if err != nil {
		return nil, err
	}
	parts, err := openInfra(dir, embeddednats.Options{Listen: cfg.NATSListen, Token: access.required(access.token)},
		embeddedmongo.Options{CacheBytes: cfg.StoreCache}, log)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", cfg.MongoListen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", cfg.MongoListen, err), parts.Close())
	}
	i := &Infra{infra: parts, ln: ln, access: access, dir: dir, log: log}
	if err := access.write(dir, i.MongoURI(), i.NATSURL()); err != nil {
		return nil, errors.Join(err, ln.Close(), parts.Close())
	}
	if i.socket, err = control.Listen(cfg.DataDir, i.backup); err != nil {
		return nil, errors.Join(err, ln.Close(), parts.Close())
	}
	return i, nil
}

// backup makes a backup while the services run. It waits until they have stored what was acknowledged before.
func (i *Infra) backup(ctx context.Context, r control.BackupRequest) error {
	dir := i.dir
	var err error
	if dir.Vocabulary, err = vocabularyOf(ctx, i.infra.store); err != nil {
		return err
	}
	conn, err := broker.Connect(ctx, broker.Config{
		InProcess: i.infra.nats.InProcess(), Options: []nats.Option{nats.Token(i.access.token)}, Logger: i.log,
	})
	if err != nil {
		return fmt.Errorf("connect to the embedded broker: %w", err)
	}
	defer conn.Close()
	if err := waitHandled(ctx, i.infra.store, conn); err != nil {
		return err
	}
	return copyStore(ctx, dir, i.infra.store, r)
}

// MongoURI is the connection string of the store, with its password. The services need it, NATSURL and SecretsFile.
func (i *Infra) MongoURI() string {
	uri := url.URL{
		Scheme: "mongodb", User: url.UserPassword(embeddedmongo.User, i.access.password), Host: i.ln.Addr().String(), Path: "/",
		RawQuery: "directConnection=true&authMechanism=SCRAM-SHA-256",
	}
	return uri.String()
}

// NATSURL is the broker's address, with its token.
func (i *Infra) NATSURL() string {
	return strings.Replace(i.infra.nats.ClientURL(), "://", "://"+i.access.token+"@", 1)
}

// MongoURIFile and NATSURLFile are the paths of files with MongoURI and NATSURL, which only their owner reads.
func (i *Infra) MongoURIFile() string { return i.dir.StoreURI() }

// NATSURLFile is beside MongoURIFile.
func (i *Infra) NATSURLFile() string { return i.dir.BrokerURL() }

// SecretsFile is the path of the encryption keys.
func (i *Infra) SecretsFile() string { return i.dir.SecretsFile() }

// Run serves until the context ends or the store fails.
func (i *Infra) Run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 2)
	for _, serve := range []func() error{
		func() error {
			return i.infra.store.Serve(running, i.ln, embeddedmongo.Access{Password: i.access.password, Optional: i.access.optional})
		},
		func() error { return i.socket.Run(running) },
	} {
		go func() {
			defer stop()
			served <- serve()
		}()
	}
	err := i.infra.store.Watch(running)
	stop()
	return errors.Join(err, <-served, <-served, i.infra.Close())
}
