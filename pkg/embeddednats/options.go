package embeddednats

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// DefaultMaxPayload is the largest message in bytes that the server takes unless Options say otherwise.
const DefaultMaxPayload = 8 << 20

// Options say how the server is started.
type Options struct {
	// Dir holds the streams. It is created when absent, and locked: one server at a time may use it. Required.
	Dir string

	// Listen is the TCP address for clients, as "127.0.0.1:4222"; port 0 takes a free one (see Server.ClientURL).
	// Empty means that no port is opened: only this process can connect.
	Listen string

	// Token is what clients have to present, those of this process too. Empty admits everybody.
	Token string

	// MaxPayload is the largest message in bytes; 0 means DefaultMaxPayload.
	MaxPayload int32

	// StoreLimit is what all streams together may use of the disk, in bytes; 0 means three quarters of what is free at
	// the start.
	StoreLimit int64

	// StartTimeout bounds the recovery of the streams; 0 means 30 s.
	StartTimeout time.Duration

	// Logger gets what the server reports; nil means slog.Default.
	Logger *slog.Logger

	// LazySyncForTests leaves JetStream's default in force: acknowledge now, flush within two minutes. A power failure
	// then loses acknowledged events. It is there for tests of the refusal and for comparisons of speed.
	LazySyncForTests bool
}

// serverOptions translates o and checks it.
func (o Options) serverOptions() (*server.Options, error) {
	if o.Dir == "" {
		return nil, fmt.Errorf("embeddednats: Options.Dir is required")
	}
	so := &server.Options{
		ServerName:            "orch",
		JetStream:             true,
		StoreDir:              o.Dir,
		SyncAlways:            !o.LazySyncForTests,
		JetStreamMaxStore:     o.StoreLimit,
		JetStreamMaxMemory:    80 << 20, // The states of rate limits and of ephemeral consumers live in memory.
		MaxPayload:            o.MaxPayload,
		Authorization:         o.Token,
		DontListen:            true,
		NoSigs:                true,
		DisableShortFirstPing: true,
	}
	if so.MaxPayload == 0 {
		so.MaxPayload = DefaultMaxPayload
	}
	if o.Listen == "" {
		return so, nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("embeddednats: listen address %q: %w", o.Listen, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("embeddednats: listen address %q: %w", o.Listen, err)
	}
	so.DontListen, so.Host, so.Port = false, host, int(n)
	if so.Port == 0 {
		so.Port = server.RANDOM_PORT
	}
	return so, nil
}
