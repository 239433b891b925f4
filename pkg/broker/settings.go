package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"
)

// Settings are how a process of its own finds the broker; the tags are read by package config. All services that share a
// broker have the same.
type Settings struct {
	URL           string `env:"ORCH_NATS_URL" secret:"true" envDefault:"nats://127.0.0.1:4223" desc:"The broker's address; tls:// demands TLS. Several servers of a cluster are separated by commas."`
	Credentials   string `env:"ORCH_NATS_CREDENTIALS" desc:"The path of a NATS credentials file (JWT and key), instead of a user and password in the address."`
	CA            string `env:"ORCH_NATS_CA" desc:"The path of the certificates (PEM) of the authority that signs the broker's certificate; the default is the system's authorities."`
	Cert          string `env:"ORCH_NATS_CERT" desc:"The path of the client certificate (PEM) for the broker. Set it together with ORCH_NATS_KEY."`
	Key           string `env:"ORCH_NATS_KEY" desc:"The path of the key (PEM) of ORCH_NATS_CERT."`
	Shards        int    `env:"ORCH_NATS_SHARDS" envDefault:"1" desc:"The number of subjects over which events are distributed; the same in all services."`
	Replicas      int    `env:"ORCH_NATS_REPLICAS" envDefault:"1" desc:"The number of servers that store each stream: 1, or 3 in a cluster."`
	BucketBytes   int64  `env:"ORCH_NATS_BUCKET_BYTES" envDefault:"0" desc:"The size in bytes of each bucket of the broker (directory, webhooks, sessions, maintenance); existing buckets get it at the start. 0 keeps their size, and a new bucket gets 64 MiB."`
	AllowLazySync bool   `env:"ORCH_ALLOW_LAZY_SYNC" envDefault:"false" desc:"Accept a broker that acknowledges before fsync: a power failure then loses acknowledged events."`
}

// Validate returns an error that names the settings that are wrong. In code, zero is the default of a number.
func (s Settings) Validate() error {
	var errs []error
	if s.Shards < 0 || s.Replicas < 0 || s.BucketBytes < 0 {
		errs = append(errs, errors.New("ORCH_NATS_SHARDS, ORCH_NATS_REPLICAS, ORCH_NATS_BUCKET_BYTES: must not be negative"))
	}
	if s.CA != "" {
		if text, err := os.ReadFile(s.CA); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_NATS_CA: %w", err))
		} else if !x509.NewCertPool().AppendCertsFromPEM(text) {
			errs = append(errs, fmt.Errorf("ORCH_NATS_CA: %s has no certificate in PEM", s.CA))
		}
	}
	if (s.Cert == "") != (s.Key == "") {
		errs = append(errs, errors.New("ORCH_NATS_CERT, ORCH_NATS_KEY: set both or none"))
	} else if s.Cert != "" {
		if _, err := tls.LoadX509KeyPair(s.Cert, s.Key); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_NATS_CERT, ORCH_NATS_KEY: %w", err))
		}
	}
	if s.Credentials != "" {
		if _, err := os.Stat(s.Credentials); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_NATS_CREDENTIALS: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Config is how a client of that name connects. The client reads the files again whenever it connects.
func (s Settings) Config(name string, log *slog.Logger) Config {
	cfg := Config{URL: s.URL, Name: name, Shards: s.Shards, Replicas: s.Replicas, BucketBytes: s.BucketBytes, AllowLazySync: s.AllowLazySync, Logger: log}
	if s.Credentials != "" {
		cfg.Options = append(cfg.Options, nats.UserCredentials(s.Credentials))
	}
	if s.CA != "" {
		cfg.Options = append(cfg.Options, nats.RootCAs(s.CA))
	}
	if s.Cert != "" {
		cfg.Options = append(cfg.Options, nats.ClientCert(s.Cert, s.Key))
	}
	return cfg
}

// ServiceConfig is Config for a service, which waits for the broker as long as it takes.
func (s Settings) ServiceConfig(name string, log *slog.Logger) Config {
	cfg := s.Config(name, log)
	cfg.ConnectTimeout = Forever
	return cfg
}
