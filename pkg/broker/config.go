package broker

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/orch-project/orch/pkg/id"
)

// Names that operators see.
const (
	// StreamEvents is the stream of events that are not yet handled by all durable consumers.
	StreamEvents = "EVENTS"
	// StreamDeadLetters is the stream of events that a durable consumer rejected.
	StreamDeadLetters = "DLQ"
	// DurablePersist is the durable consumer that writes events to the store.
	DurablePersist = "persist"
	// DurableAutomations is the durable consumer that evaluates automations.
	DurableAutomations = "automations"
)

// Limits of the wire.
const (
	// MaxEventBytes is the largest event, encoded.
	MaxEventBytes = 1_500_000
	// MaxFrameEvents is the largest number of events in a frame.
	MaxFrameEvents = 256
	// MaxFrameBytes is the largest frame that holds more than one event.
	MaxFrameBytes = 512 << 10
	// MinMaxPayload is what the server's max_payload must be at least.
	MinMaxPayload = 8 << 20
)

// Config says how to connect. The zero value of each optional field means its default.
type Config struct {
	// URL names the servers, separated by commas. Required unless InProcess is set.
	URL string
	// InProcess connects to a server within this process; URL is then ignored.
	InProcess nats.InProcessConnProvider
	// Options are added to the connection: credentials, TLS.
	Options []nats.Option
	// Name tells this client from others in the server's reports. Default "orch".
	Name string

	// Durables are the consumers that must have handled an event before it leaves the stream. Every publisher and
	// consumer of a cluster names the same. Default: DurablePersist and DurableAutomations.
	Durables []string
	// Shards is the number of subjects, hence of committers per process. Default 1.
	Shards int
	// Replicas of the streams that Connect creates: 1, or 3 in a cluster. Default 1.
	Replicas int
	// MaxBytes is the size of the stream at which new events are refused. When 0, an existing stream keeps its limit. A
	// new one gets 8 GiB or, on a smaller disk, between a quarter and a half of the free space.
	MaxBytes int64
	// DeadLetterBytes is the size of the dead-letter stream. Default 256 MiB, halved in the same way.
	DeadLetterBytes int64

	// ConnectTimeout bounds how long Connect keeps trying. Default 10 s.
	ConnectTimeout time.Duration
	// AckTimeout bounds how long a publisher waits, in the queue and for the acknowledgement together. Default 1.5 s.
	AckTimeout time.Duration
	// AckWait is how long a consumer may be silent about a frame before the server delivers it again: after the death of
	// a process its events rest so long. Living ones are never silent for more than half of it. Default 5 s.
	AckWait time.Duration
	// QueueEvents and QueueBytes bound what waits per shard; beyond, Publish answers ErrUnavailable at once.
	// Defaults 8192 and 64 MiB.
	QueueEvents int
	QueueBytes  int64

	// AllowLazySync accepts a broker that does not flush before it acknowledges, or does not tell. A power failure may
	// then lose acknowledged events. Operators set it with ORCH_ALLOW_LAZY_SYNC=1.
	AllowLazySync bool

	// IDs makes the ids of frames. Default id.System().
	IDs *id.Source
	// Logger gets what happens behind the calls. Default slog.Default().
	Logger *slog.Logger
}

// withDefaults is c with its gaps filled, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.URL == "" && c.InProcess == nil {
		return c, fmt.Errorf("broker: Config needs URL or InProcess")
	}
	setDefault(&c.Name, "orch")
	if len(c.Durables) == 0 {
		c.Durables = []string{DurablePersist, DurableAutomations}
	}
	c.Durables = slices.Clone(c.Durables)
	for _, name := range c.Durables {
		if name == "" || strings.ContainsAny(name, " \t\r\n.*>/\\") {
			return c, fmt.Errorf("broker: %q cannot be the name of a durable consumer", name)
		}
	}
	setDefault(&c.Shards, 1)
	setDefault(&c.Replicas, 1)
	setDefault(&c.ConnectTimeout, 10*time.Second)
	setDefault(&c.AckTimeout, 1500*time.Millisecond)
	setDefault(&c.AckWait, 5*time.Second)
	setDefault(&c.QueueEvents, 8192)
	setDefault(&c.QueueBytes, 64<<20)
	if c.Shards < 1 || c.Replicas < 1 || c.MaxBytes < 0 || c.DeadLetterBytes < 0 || c.QueueEvents < 1 ||
		c.QueueBytes < 1 || c.ConnectTimeout < 0 || c.AckTimeout < 0 || c.AckWait < 0 {
		return c, fmt.Errorf("broker: Config has a negative number")
	}
	if c.IDs == nil {
		c.IDs = id.System()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("component", "broker")
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
