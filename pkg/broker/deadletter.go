package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of a dead letter.
const (
	headerReason    = "Orch-Reason"
	headerDurable   = "Orch-Durable"
	maxReasonLength = 1024
)

// DeadLetter is an event that a durable consumer rejected. It is kept for 30 days unless it is replayed or discarded.
type DeadLetter struct {
	Seq     uint64 // Its number, by which it is replayed or discarded.
	Durable string // The consumer that rejected it.
	Reason  string
	At      time.Time

	// Event is what was rejected; zero when not even that could be decoded.
	Event Event
	// Raw is the message as it is stored: one CloudEvent, or the bytes of a frame that could not be decoded.
	Raw []byte
}

// deadLetterEvents writes the rejected events of a batch. The id of a dead letter is that of the event, its workspace and the consumer, so
// that a frame which is delivered twice leaves one.
func (c *Conn) deadLetterEvents(ctx context.Context, durable string, batch []Delivery, rejected *Rejected) error {
	for i := range batch {
		e := &batch[i].Event
		if !slices.Contains(rejected.Keys, e.Key()) {
			continue
		}
		c.log.WarnContext(ctx, "dead-lettering an event", "durable", durable, "event", e.ID, "error", rejected.Err)
		id := durable + "." + e.Workspace.String() + "." + e.ID.String()
		if err := c.deadLetter(ctx, durable, id, contentTypeEvent, appendEvent(nil, e), rejected.Err); err != nil {
			return err
		}
	}
	return nil
}

// deadLetterFrame writes a frame that cannot be decoded.
func (c *Conn) deadLetterFrame(ctx context.Context, durable string, msg jetstream.Msg, reason error) error {
	id := ""
	if meta, err := msg.Metadata(); err == nil {
		id = fmt.Sprintf("%s.frame.%d", durable, meta.Sequence.Stream)
	}
	return c.deadLetter(ctx, durable, id, msg.Headers().Get("Content-Type"), msg.Data(), reason)
}

func (c *Conn) deadLetter(ctx context.Context, durable, id, contentType string, body []byte, reason error) error {
	msg := &nats.Msg{
		Subject: deadLetterPrefix + durable,
		Data:    body,
		Header:  nats.Header{headerDurable: {durable}, headerReason: {headerValue(reason)}, "Content-Type": {contentType}},
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id)); err != nil {
		return fmt.Errorf("writing a dead letter: %w", err)
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
		text = strings.ToValidUTF8(text[:maxReasonLength], "") + "…"
	}
	return strings.TrimSpace(text)
}

// DeadLetters lists the dead letters of a durable consumer (of all when it is empty), oldest first: at most limit, those
// with a number above after.
func (c *Conn) DeadLetters(ctx context.Context, durable string, after uint64, limit int) ([]DeadLetter, error) {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return nil, unavailable(ctx, "listing dead letters", err)
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
			return list, unavailable(ctx, "listing dead letters", err)
		}
		list = append(list, newDeadLetter(msg))
		after = msg.Sequence
	}
	return list, nil
}

func newDeadLetter(msg *jetstream.RawStreamMsg) DeadLetter {
	d := DeadLetter{
		Seq:     msg.Sequence,
		Durable: msg.Header.Get(headerDurable),
		Reason:  msg.Header.Get(headerReason),
		At:      msg.Time,
		Raw:     msg.Data,
	}
	if e, err := decodeEvent(msg.Data); err == nil {
		d.Event = e
	}
	return d
}

// Replay publishes a dead letter's event again, to all consumers, and removes it when that is acknowledged. It returns
// ErrNotFound when there is no such dead letter, ErrInvalidEvent when it is not an event.
func (c *Conn) Replay(ctx context.Context, seq uint64) error {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return unavailable(ctx, "replaying a dead letter", err)
	}
	msg, err := stream.GetMsg(ctx, seq)
	if err != nil {
		return deadLetterError(ctx, "replaying", seq, err)
	}
	d := newDeadLetter(msg)
	if d.Event.ID == uuid.Nil {
		return fmt.Errorf("replaying dead letter %d: %w: it cannot be decoded", seq, ErrInvalidEvent)
	}
	if err := c.publisher.Publish(ctx, d.Event); err != nil {
		return fmt.Errorf("replaying dead letter %d: %w", seq, err)
	}
	return deadLetterError(ctx, "removing replayed", seq, stream.DeleteMsg(ctx, seq))
}

// Discard removes a dead letter for good. It returns ErrNotFound when there is no such dead letter.
func (c *Conn) Discard(ctx context.Context, seq uint64) error {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return unavailable(ctx, "discarding a dead letter", err)
	}
	if _, err := stream.GetMsg(ctx, seq); err != nil { // DeleteMsg does not tell absence from other failures.
		return deadLetterError(ctx, "discarding", seq, err)
	}
	return deadLetterError(ctx, "discarding", seq, stream.DeleteMsg(ctx, seq))
}

func deadLetterError(ctx context.Context, doing string, seq uint64, err error) error {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("%s dead letter %d: %w", doing, seq, ErrNotFound)
	}
	return unavailable(ctx, fmt.Sprintf("%s dead letter %d", doing, seq), err)
}
