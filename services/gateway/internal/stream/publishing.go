package stream

import (
	"context"

	"github.com/orch-project/orch/pkg/broker"
)

const (
	// maxPublishing is how many sockets publish at a time: what they have in hand fits into the queue of the process's
	// publisher beside what others put there, so that many busy sockets wait instead of being refused.
	maxPublishing = 16
	// maxBatchEvents and maxBatchBytes are what one socket may have waiting while its last batch is under way. Then it
	// is not read from any more: the client's own connection fills up, and the client waits.
	maxBatchEvents = 256
	maxBatchBytes  = 2 << 20
)

// publishing is the way to the broker that all sockets share.
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

// publish returns nil once all events are durable. The batch is empty then, whatever it returns.
func (p *publishing) publish(batch *broker.Batch) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	return p.publisher.PublishBatch(context.Background(), batch) // It ends by the publisher's own time.
}
