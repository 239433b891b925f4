package stream

import (
	"context"

	"github.com/orch-project/orch/pkg/broker"
)

const (
	// maxPublishing bounds the sockets that publish at a time, so that their batches fit into the process's publish
	// queue. Further sockets wait instead of failing.
	maxPublishing = 16
	// maxBatchEvents and maxBatchBytes bound what one socket may queue while its batch is in flight. Beyond them the
	// socket is not read, and TCP flow control delays the client.
	maxBatchEvents = 256
	maxBatchBytes  = 2 << 20
)

// publishing is the broker publisher that all sockets share.
type publishing struct {
	publisher *broker.Publisher
	slots     chan struct{}
	// acquire waits for credit to publish an event; release returns that of so many.
	acquire func() error
	release func(events int)
}

func newPublishing(publisher *broker.Publisher) *publishing {
	return &publishing{
		publisher: publisher,
		slots:     make(chan struct{}, maxPublishing),
		acquire:   func() error { return publisher.Acquire(context.Background(), 1, 0) },
		release:   publisher.Release,
	}
}

// publish returns nil once all events are durable. It empties the batch in any case.
func (p *publishing) publish(batch *broker.Batch) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	return p.publisher.PublishBatch(context.Background(), batch) // The publisher's own timeout ends it.
}
