package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of a dead letter.
const (
	headerReason      = "Orch-Reason"
	headerDurable     = "Orch-Durable"
	headerContentType = "Content-Type"
	maxReasonLength   = 1024
)

// headerRetryFor names the one durable consumer that handles a retried dead letter. The other consumers acknowledge the
// frame unread: they have handled its event before.
const headerRetryFor = "Orch-Retry-For"

// DeadLetter is an event that a durable consumer rejected. The stream keeps it for 30 days unless it is retried or
// discarded.
type DeadLetter struct {
	Seq     uint64 // Its sequence number, which identifies it.
	Durable string // The consumer that rejected it.
	Reason  string // Why the consumer rejected it; one line, at most 1,024 bytes.
	At      time.Time

	// Event is the rejected event; zero when the frame could not be decoded.
	Event Event
	// Raw is the stored message: one CloudEvent, or the bytes of an undecodable frame.
	Raw []byte

	contentType string
}

// deadLetterEvents writes the rejected events of a batch, each with its own reason.
func (c *Conn) deadLetterEvents(ctx context.Context, durable string, batch []Delivery, rejected *Rejected) error {
	for i := range batch {
		e := &batch[i].Event
		reason, ok := rejected.Reasons[e.Key()]
		if !ok {
			continue
		}
		if err := c.DeadLetterEvent(ctx, durable, e, batch[i].sequence, reason); err != nil {
			return err
		}
	}
	return nil
}

// DeadLetterEvent writes an event that a durable consumer rejects. Consume does it for the events of a batch; a consumer that
// acknowledged an event before calls it itself. The id of a dead letter consists of consumer, workspace, event id and delivery.
// So a repeated call for one delivery writes one dead letter, and an event that was retried gets a new one.
func (c *Conn) DeadLetterEvent(ctx context.Context, durable string, e *Event, delivery uint64, reason error) error {
	c.log.WarnContext(ctx, "moving an event to the dead letters",
		"durable", durable, "workspace", e.Workspace, "event", e.ID, "error", reason)
	id := fmt.Sprintf("%s.%s.%s.%d", durable, e.Workspace, e.ID, delivery)
	return c.deadLetter(ctx, durable, id, contentTypeEvent, appendEvent(nil, e), reason)
}

// deadLetterFrame writes a frame that cannot be decoded.
func (c *Conn) deadLetterFrame(ctx context.Context, durable string, msg jetstream.Msg, reason error) error {
	id := ""
	if meta, err := msg.Metadata(); err == nil {
		id = fmt.Sprintf("%s.frame.%d", durable, meta.Sequence.Stream)
	}
	frame, err := decompress(nil, msg.Headers(), msg.Data())
	if err != nil {
		frame = msg.Data() // A damaged frame is kept as it is.
	}
	return c.deadLetter(ctx, durable, id, msg.Headers().Get(headerContentType), frame, reason)
}

func (c *Conn) deadLetter(ctx context.Context, durable, id, contentType string, body []byte, reason error) error {
	msg := &nats.Msg{
		Subject: deadLetterPrefix + durable,
		Data:    body,
		Header:  nats.Header{headerDurable: {durable}, headerReason: {headerValue(reason)}, headerContentType: {contentType}},
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ack, err := c.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id))
	if err != nil {
		return fmt.Errorf("write dead letter: %w", err)
	}
	if !ack.Duplicate {
		c.deadLettered.Add(1)
	}
	return nil
}

// headerValue is the text of err on one line, of bounded length.
func headerValue(err error) string {
	if err == nil {
		return ""
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "?"))
	if len(text) > maxReasonLength {
		text = strings.ToValidUTF8(text[:maxReasonLength-len("…")], "") + "…"
	}
	return strings.TrimSpace(text)
}

// DeadLetters lists the dead letters of a durable consumer (of all when it is empty), oldest first: at most limit, with
// sequence numbers above after.
func (c *Conn) DeadLetters(ctx context.Context, durable string, after uint64, limit int) ([]DeadLetter, error) {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return nil, unavailable(ctx, "list dead letters", err)
	}
	subject := deadLetterPrefix + ">"
	if durable != "" {
		subject = deadLetterPrefix + durable
	}
	var list []DeadLetter
	for len(list) < limit {
		msg, err := stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return list, unavailable(ctx, "list dead letters", err)
		}
		list = append(list, newDeadLetter(msg))
		after = msg.Sequence
	}
	return list, nil
}

// DeadLetter returns one dead letter. It returns ErrNotFound for an unknown sequence number.
func (c *Conn) DeadLetter(ctx context.Context, seq uint64) (DeadLetter, error) {
	_, d, err := c.readDeadLetter(ctx, "read", seq)
	return d, err
}

func (c *Conn) readDeadLetter(ctx context.Context, verb string, seq uint64) (jetstream.Stream, DeadLetter, error) {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return nil, DeadLetter{}, deadLetterError(ctx, verb, seq, err)
	}
	msg, err := stream.GetMsg(ctx, seq)
	if err != nil {
		return nil, DeadLetter{}, deadLetterError(ctx, verb, seq, err)
	}
	return stream, newDeadLetter(msg), nil
}

func newDeadLetter(msg *jetstream.RawStreamMsg) DeadLetter {
	d := DeadLetter{
		Seq:         msg.Sequence,
		Durable:     msg.Header.Get(headerDurable),
		Reason:      msg.Header.Get(headerReason),
		At:          msg.Time,
		Raw:         msg.Data,
		contentType: msg.Header.Get(headerContentType),
	}
	if e, err := decodeEvent(msg.Data); err == nil {
		d.Event = e
	}
	return d
}

// RetryDeadLetter publishes a dead letter again for the consumer that rejected it, and removes it once the stream has
// acknowledged. Other consumers and live feeds do not receive it. Calls that race, or that repeat within two minutes of a
// lost response, publish it once; afterwards the consumer de-duplicates by Event.Key. A consumer that rejects it again
// writes a new dead letter. It returns ErrNotFound for an unknown sequence number.
func (c *Conn) RetryDeadLetter(ctx context.Context, seq uint64) error {
	stream, d, err := c.readDeadLetter(ctx, "retry", seq)
	if err != nil {
		return err
	}
	body, contentType := d.Raw, d.contentType
	if d.Event.ID != uuid.Nil {
		body, contentType = append(append([]byte("["), d.Raw...), ']'), contentTypeBatch
	}
	bound, unbind := c.epoch.bind(ctx)
	defer unbind()
	msg := &nats.Msg{
		Subject: eventSubject(shard(d.Event.Workspace, c.cfg.Shards)),
		Data:    body,
		Header: nats.Header{
			headerContentType:              {contentType},
			headerRetryFor:                 {d.Durable},
			jetstream.ExpectedStreamHeader: {StreamEvents},
		},
	}
	if _, err := c.js.PublishMsg(bound, msg, jetstream.WithMsgID(fmt.Sprintf("retry.%d", seq))); err != nil {
		return deadLetterError(ctx, "retry", seq, err)
	}
	err = stream.DeleteMsg(ctx, seq)
	if _, missing := stream.GetMsg(ctx, seq); errors.Is(missing, jetstream.ErrMsgNotFound) {
		return nil // A concurrent call has removed it.
	}
	return deadLetterError(ctx, "remove retried", seq, err)
}

// DiscardDeadLetter removes a dead letter for good. It returns ErrNotFound for an unknown sequence number.
func (c *Conn) DiscardDeadLetter(ctx context.Context, seq uint64) error {
	stream, _, err := c.readDeadLetter(ctx, "discard", seq) // DeleteMsg does not tell absence from other failures.
	if err != nil {
		return err
	}
	return deadLetterError(ctx, "discard", seq, stream.DeleteMsg(ctx, seq))
}

func deadLetterError(ctx context.Context, verb string, seq uint64, err error) error {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("%s dead letter %d: %w", verb, seq, ErrNotFound)
	}
	return unavailable(ctx, fmt.Sprintf("%s dead letter %d", verb, seq), err)
}
