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

// Limits of frames and events.
const (
	// MaxEventBytes bounds an encoded event.
	MaxEventBytes = 1_500_000
	// MaxFrameEvents bounds the events in a frame.
	MaxFrameEvents = 256
	// MaxFrameBytes bounds a frame with more than one event, unless they belong together.
	MaxFrameBytes = 512 << 10
	// MinMaxPayload is the minimum of the server's max_payload.
	MinMaxPayload = 8 << 20

	defaultQueueBytes = 64 << 20
)

// Config configures a connection. The zero value of each optional field means its default.
type Config struct {
	// URL names the servers, separated by commas. Required unless InProcess is set.
	URL string
	// InProcess connects to a server within this process; URL is then ignored.
	InProcess nats.InProcessConnProvider
	// Options are added to the connection: credentials, TLS.
	Options []nats.Option
	// Name identifies this client in the server's reports. Default "orch".
	Name string

	// Durables are the consumers that must have handled an event before it leaves the stream. All publishers and
	// consumers of a cluster must use the same names. Default: DurablePersist and DurableAutomations.
	Durables []string
	// Shards is the number of subjects, hence of committers per process. Default 1.
	Shards int
	// Replicas of the streams that Connect creates: 1, or 3 in a cluster. Default 1.
	Replicas int
	// MaxBytes is the size of the stream at which new events are refused. When 0, an existing stream keeps its limit. A
	// new one gets 8 GiB or, on a smaller disk, between a quarter and a half of the free space.
	MaxBytes int64
	// BucketBytes is the size of each bucket at which it refuses larger values. It is applied to existing buckets too. When 0, an
	// existing bucket keeps its size, and a new one gets 64 MiB.
	BucketBytes int64
	// DeadLetterBytes is the size of the dead-letter stream. Default 256 MiB, halved in the same way.
	DeadLetterBytes int64

	// ConnectTimeout bounds how long Connect keeps trying; Forever waits until its context ends. Default 10 s.
	ConnectTimeout time.Duration
	// AckTimeout bounds how long a publisher waits, in the queue and for the acknowledgement together. Default 1.5 s.
	AckTimeout time.Duration
	// AckWait is how long the server waits for the acknowledgement of a frame before it redelivers the frame: after the
	// death of a process its events are delayed that long. Live consumers report progress twice as often. Default 5 s.
	AckWait time.Duration
	// QueueEvents and QueueBytes bound the queue of a shard; beyond them Publish returns ErrUnavailable at once.
	// Defaults 8192 and 64 MiB.
	QueueEvents int
	QueueBytes  int64

	// AllowLazySync accepts a broker that does not flush before it acknowledges, or does not report it. A power failure
	// may then lose acknowledged events. Operators set it with ORCH_ALLOW_LAZY_SYNC=1.
	AllowLazySync bool

	// IDs generates the ids of frames. Default id.System().
	IDs *id.Source
	// Logger receives background events. Default slog.Default().
	Logger *slog.Logger
}

// withDefaults returns c with defaults for its zero fields, or the first invalid setting.
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
	setDefault(&c.QueueBytes, defaultQueueBytes)
	if c.Shards < 1 || c.Replicas < 1 || c.MaxBytes < 0 || c.DeadLetterBytes < 0 || c.BucketBytes < 0 || c.QueueEvents < 1 ||
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
