package conversion

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// convertBroker converts what the broker holds: events that are not stored, dead letters, the delivery log on its way to the store,
// and the definitions of webhooks.
func (c *Converter) convertBroker(ctx context.Context) error {
	if c.broker == nil {
		return nil
	}
	if c.state.Streams == nil {
		c.state.Streams = map[string]broker.StreamRewrite{}
	}
	save := func(name string) func(broker.StreamRewrite) error {
		return func(at broker.StreamRewrite) error {
			c.state.Streams[name] = at
			return c.save(ctx)
		}
	}
	for _, name := range []string{broker.StreamEvents, broker.StreamDeadLetters} {
		events := &brokerEvents{converter: c, stream: name}
		if err := c.broker.RewriteEvents(ctx, name, c.state.Streams[name], save(name), events.rewrite); err != nil {
			return err
		}
	}
	name := deliverylog.Journal
	if err := c.broker.RewriteJournal(ctx, name, c.state.Streams[name], save(name), c.deliveries); err != nil {
		return err
	}
	return c.definitions(ctx, c.definition)
}

// surveyBroker reports how much the broker holds.
func (c *Converter) surveyBroker(ctx context.Context) error {
	if c.broker == nil {
		return nil
	}
	return c.definitions(ctx, func(current []byte) ([]byte, error) {
		_, err := c.definition(current)
		return nil, err
	})
}

// brokerEvents rewrites the events of a stream.
type brokerEvents struct {
	converter *Converter
	stream    string
}

func (b *brokerEvents) rewrite(e *broker.Event) error {
	c := b.converter
	event, ws, err := wire.FromBroker(*e)
	if err != nil { // A dead letter may be what nobody can read.
		c.report.broker(b.stream, false)
		return nil //nolint:nilerr // It stays as it is.
	}
	changed, err := c.transient(event)
	if err != nil {
		return err
	}
	c.report.broker(b.stream, changed)
	next, err := wire.ToBroker(c.to, event, ws)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	*e = next
	return nil
}

// transient rewrites a message that leaves the broker soon. If it has a name in both vocabularies, the two change places, as in
// documents.
func (c *Converter) transient(m proto.Message) (changed bool, err error) {
	found := map[string]bool{}
	collect := rewriter{rename: func(name string) string { found[name] = true; return name }, notes: noNotes{}, keys: c.keys}
	if _, err := collect.message(m); err != nil {
		return false, err
	}
	r := renaming{from: c.from, to: c.to, swapped: map[string]bool{}}
	for name := range found {
		if owner, _ := vocabulary.Owner(name); owner == c.to && found[c.from.Rename(name)] {
			r.swapped[name] = true
		}
	}
	w := rewriter{rename: r.rename, notes: noNotes{}, keys: c.keys}
	fields, err := w.message(m)
	return len(fields) > 0, err
}

// deliveries rewrites an entry of the journal of deliveries.
func (c *Converter) deliveries(entry []byte) ([]byte, error) {
	batch := &orchv1.WebhookDeliveryBatch{}
	if err := proto.Unmarshal(entry, batch); err != nil {
		return entry, nil //nolint:nilerr // Its consumer cannot read it either, and skips it.
	}
	changed, err := c.transient(batch)
	c.report.broker(deliverylog.Journal, changed)
	if err != nil || !changed {
		return entry, err
	}
	return proto.Marshal(batch)
}

// definitions visits the definitions of webhooks in their bucket. They must not wait for orchestration, which compares revisions.
func (c *Converter) definitions(ctx context.Context, visit func(current []byte) ([]byte, error)) error {
	bucket, err := c.broker.KeyValue(ctx, webhookdef.Bucket, broker.KVConfig{Description: "webhooks, for the hooks service"})
	if err != nil {
		return err
	}
	keys, err := bucket.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, account := webhookdef.AccountOf(key); account {
			continue
		}
		if err := bucket.Swap(ctx, key, visit); err != nil {
			return fmt.Errorf("convert webhook definition: %w", err)
		}
	}
	return nil
}

// definition rewrites a definition; it returns nil if nothing changes. Its template has exactly the names of the stored webhook's.
func (c *Converter) definition(current []byte) ([]byte, error) {
	d, err := webhookdef.Decode(current)
	if errors.Is(err, webhookdef.ErrUnreadable) || strings.TrimSpace(string(current)) == "" {
		return nil, nil // Orchestration replaces it.
	}
	if err != nil {
		return nil, err
	}
	changed, err := c.transient(d)
	c.report.broker(webhookdef.Bucket, changed)
	if err != nil || !changed {
		return nil, err
	}
	return webhookdef.Encode(d)
}
