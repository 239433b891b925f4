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

// Headers of a dead letter. A list of dead letters reads the headers alone.
const (
	headerReason      = "Orch-Reason"
	headerDurable     = "Orch-Durable"
	headerWorkspace   = "Orch-Workspace"
	headerEventID     = "Orch-Event-Id"
	headerEventType   = "Orch-Event-Type"
	headerContentType = "Content-Type"
	maxReasonLength   = 1024
)

// headerRetryFor names the one durable consumer that handles a retried dead letter. The other consumers acknowledge the
// frame unread: they have handled its event before.
const headerRetryFor = "Orch-Retry-For"

// DeadLetter is an event that a durable consumer rejected. The stream keeps it for 30 days unless it is retried or
// discarded, or its workspace has to make room.
type DeadLetter struct {
	Seq     uint64 // Its sequence number, which identifies it.
	Durable string // The consumer that rejected it.
	Reason  string // Why the consumer rejected it; one line, at most 1,024 bytes.
	At      time.Time

	// Event is the rejected event; zero when the frame could not be decoded. In a list it has id, workspace and type.
	Event Event
	// Raw is the stored message: one CloudEvent, or the bytes of an undecodable frame. It is nil in a list.
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
// acknowledged an event before calls it itself. The subject of a dead letter has consumer, workspace, event id and delivery.
// So a repeated call for one delivery writes one dead letter, and an event that was retried gets a new one.
func (c *Conn) DeadLetterEvent(ctx context.Context, durable string, e *Event, delivery uint64, reason error) error {
	c.log.WarnContext(ctx, "failed to handle an event; it becomes a dead letter",
		"durable", durable, "workspace", e.Workspace, "event", e.ID, "error", reason)
	return c.deadLetter(ctx, letter{
		durable: durable, event: *e, id: fmt.Sprintf("%s.%d", e.ID, delivery), contentType: contentTypeEvent, body: appendEvent(nil, e), reason: reason,
	})
}

// deadLetterFrame writes a frame that cannot be decoded.
func (c *Conn) deadLetterFrame(ctx context.Context, durable string, msg jetstream.Msg, reason error) error {
	l := letter{durable: durable, id: "frame.0", contentType: msg.Headers().Get(headerContentType), reason: reason}
	if meta, err := msg.Metadata(); err == nil {
		l.id = fmt.Sprintf("frame.%d", meta.Sequence.Stream)
	}
	var err error
	if l.body, err = decompress(nil, msg.Headers(), msg.Data()); err != nil {
		l.body = msg.Data() // A damaged frame is kept as it is.
	}
	return c.deadLetter(ctx, l)
}

// letter is a dead letter to be written. The event of an undecodable frame is zero.
type letter struct {
	durable     string
	event       Event
	id          string // Of the event and its delivery: two tokens of a subject.
	contentType string
	body        []byte
	reason      error
}

// subject identifies the letter, and names its workspace and its size.
func (l letter) subject() string {
	return fmt.Sprintf("%s%s.%s.%d.%s", deadLetterPrefix, l.durable, l.event.Workspace, sizeClass(len(l.body)), l.id)
}

// deadLetter writes a dead letter once. When the stream is full, the workspace with the most dead letters makes room. A letter for which
// there is no room all the same is dropped and counted: it must not delay the events that can be handled.
func (c *Conn) deadLetter(ctx context.Context, l letter) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	header := nats.Header{
		headerDurable: {l.durable}, headerReason: {headerValue(l.reason)}, headerContentType: {l.contentType},
		headerWorkspace: {l.event.Workspace.String()}, headerEventID: {l.event.ID.String()}, headerEventType: {headerValue(errors.New(l.event.Type))},
	}
	for attempt := 0; ; attempt++ {
		_, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject(), Data: l.body, Header: header}, jetstream.WithExpectLastSequencePerSubject(0))
		switch {
		case err == nil:
			c.deadLettered.Add(1)
			return nil
		case wrongRevision(err):
			return nil // It was written before.
		case !isFull(err):
			return unavailable(ctx, "write dead letter", err)
		case attempt == maxRoomAttempts:
			c.deadLettersDropped.Add(1)
			c.log.ErrorContext(ctx, "failed to write a dead letter: the stream of dead letters is full",
				"durable", l.durable, "workspace", l.event.Workspace, "event", l.event.ID, "bytes", len(l.body))
			return nil
		}
		if err := c.makeRoom(ctx); err != nil {
			return err
		}
	}
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
// sequence numbers above after. It reads no bodies.
func (c *Conn) DeadLetters(ctx context.Context, durable string, after uint64, limit int) (list []DeadLetter, err error) {
	bound, unbind := c.epoch.bind(ctx)
	defer unbind()
	for len(list) < limit {
		page, err := c.deadLetterHeaders(bound, after, limit)
		if err != nil {
			return list, unavailable(ctx, "list dead letters", err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			if after = d.Seq; len(list) < limit && (durable == "" || d.Durable == durable) {
				list = append(list, d)
			}
		}
	}
	return list, nil
}

// deadLetterHeaders reads the headers of the next dead letters, without their bodies. It returns none at the end.
func (c *Conn) deadLetterHeaders(ctx context.Context, after uint64, limit int) (page []DeadLetter, err error) {
	consumer, err := c.js.CreateConsumer(ctx, StreamDeadLetters, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1, AckPolicy: jetstream.AckNonePolicy,
		HeadersOnly: true, MemoryStorage: true, Replicas: 1, InactiveThreshold: 10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		// The server removes it after InactiveThreshold otherwise.
		_ = c.js.DeleteConsumer(context.WithoutCancel(ctx), StreamDeadLetters, consumer.CachedInfo().Name)
	}()
	pending := min(uint64(limit), consumer.CachedInfo().NumPending)
	if pending == 0 {
		return nil, nil
	}
	messages, err := consumer.Fetch(int(pending), jetstream.FetchMaxWait(requestTimeout))
	if err != nil {
		return nil, err
	}
	for msg := range messages.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		page = append(page, newDeadLetter(meta.Sequence.Stream, meta.Timestamp, msg.Headers(), nil))
	}
	return page, messages.Error()
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
	return stream, newDeadLetter(msg.Sequence, msg.Time, msg.Header, msg.Data), nil
}

// newDeadLetter returns a stored dead letter; the body is nil in a list.
func newDeadLetter(seq uint64, at time.Time, header nats.Header, body []byte) DeadLetter {
	d := DeadLetter{
		Seq: seq, Durable: header.Get(headerDurable), Reason: header.Get(headerReason), At: at, Raw: body, contentType: header.Get(headerContentType),
	}
	if body == nil {
		d.Event.Type = header.Get(headerEventType)
		d.Event.ID, _ = uuid.Parse(header.Get(headerEventID)) // An older version did not write it.
		d.Event.Workspace, _ = uuid.Parse(header.Get(headerWorkspace))
		return d
	}
	if e, err := decodeEvent(body); err == nil {
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
