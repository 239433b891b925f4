package broker

import (
	"errors"
	"log/slog"
)

// Settings are how a process of its own finds the broker; the tags are read by package config. All services that share a
// broker have the same.
type Settings struct {
	URL           string `env:"ORCH_NATS_URL" secret:"true" envDefault:"nats://127.0.0.1:4223" desc:"The broker's address."`
	Shards        int    `env:"ORCH_NATS_SHARDS" envDefault:"1" desc:"The number of subjects over which events are distributed; the same in all services."`
	Replicas      int    `env:"ORCH_NATS_REPLICAS" envDefault:"1" desc:"The number of servers that store each stream: 1, or 3 in a cluster."`
	AllowLazySync bool   `env:"ORCH_ALLOW_LAZY_SYNC" envDefault:"false" desc:"Accept a broker that acknowledges before fsync: a power failure then loses acknowledged events."`
}

// Validate says what is wrong, naming the settings. Zero is the default of numbers that were left out in code.
func (s Settings) Validate() error {
	if s.Shards < 0 || s.Replicas < 0 {
		return errors.New("ORCH_NATS_SHARDS, ORCH_NATS_REPLICAS: must not be negative")
	}
	return nil
}

// Config is how a client of that name connects.
func (s Settings) Config(name string, log *slog.Logger) Config {
	return Config{URL: s.URL, Name: name, Shards: s.Shards, Replicas: s.Replicas, AllowLazySync: s.AllowLazySync, Logger: log}
}

// ServiceConfig is Config for a service, which waits for the broker as long as it takes.
func (s Settings) ServiceConfig(name string, log *slog.Logger) Config {
	cfg := s.Config(name, log)
	cfg.ConnectTimeout = Forever
	return cfg
}
