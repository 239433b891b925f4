package broker

import (
	"context"
	"strings"
	"time"
)

// StreamStatus is the fill of a stream.
type StreamStatus struct {
	Name     string
	Messages uint64 // Frames of StreamEvents, dead letters of StreamDeadLetters, entries of buckets and journals.
	Bytes    uint64
	// MaxBytes is the size at which the stream refuses new messages.
	MaxBytes uint64
	// Oldest is when the oldest message was stored; zero for an empty stream.
	Oldest time.Time
}

// ConsumerStatus is the lag of a durable consumer, in frames.
type ConsumerStatus struct {
	Durable        string
	Pending        uint64 // Not delivered yet.
	Unacknowledged uint64 // Delivered and not acknowledged.
	Redelivered    uint64 // Delivered more than once and not acknowledged.
}

// Status is the state of the streams and of the durable consumers.
type Status struct {
	Streams   []StreamStatus
	Consumers []ConsumerStatus
}

// Status reads the fill of the streams, of buckets and journals too, and the lag of each durable consumer.
func (c *Conn) Status(ctx context.Context) (Status, error) {
	bound, unbind := c.epoch.bind(ctx)
	defer unbind()
	var status Status
	streams := c.js.ListStreams(bound)
	for info := range streams.Info() {
		name := info.Config.Name
		if name != StreamEvents && name != StreamDeadLetters && !strings.HasPrefix(name, bucketPrefix) && !strings.HasPrefix(name, journalStreamPrefix) {
			continue // Of another application.
		}
		s := StreamStatus{
			Name: name, Messages: info.State.Msgs, Bytes: info.State.Bytes, MaxBytes: uint64(max(info.Config.MaxBytes, 0)),
		}
		if s.Messages > 0 {
			s.Oldest = info.State.FirstTime
		}
		status.Streams = append(status.Streams, s)
	}
	if err := streams.Err(); err != nil {
		return Status{}, unavailable(ctx, "read streams", err)
	}
	for _, durable := range c.cfg.Durables {
		consumer, err := c.js.Consumer(bound, StreamEvents, durable)
		if err != nil {
			return Status{}, unavailable(ctx, "read consumer "+durable, err)
		}
		info := consumer.CachedInfo()
		status.Consumers = append(status.Consumers, ConsumerStatus{
			Durable: durable, Pending: info.NumPending,
			Unacknowledged: uint64(info.NumAckPending), Redelivered: uint64(info.NumRedelivered),
		})
	}
	return status, nil
}
