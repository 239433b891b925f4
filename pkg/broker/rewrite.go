package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// StreamRewrite is the progress of rewriting a stream. The caller stores it durably, so that an interrupted rewriting continues.
//
//	First … Last │ Moved …        messages to move │ copies behind them: of earlier batches, and of the current batch
type StreamRewrite struct {
	// Last is the sequence of the last message to rewrite; 0 before the beginning.
	Last uint64 `bson:"last"`
	// Batch is the last message of the current batch, and Behind the last one of the stream before its copies; both are 0
	// between batches.
	Batch  uint64 `bson:"batch"`
	Behind uint64 `bson:"behind"`
	// Copied reports that the copies of the batch are complete.
	Copied bool `bson:"copied"`
	Done   bool `bson:"done"`
}

// rewriteBatch bounds the messages that are in a stream twice, and memory with them.
const rewriteBatch = 64

// rewriteStream replaces every message of a stream by the result of rewrite, in order. A message cannot change in place, so
// each is published again behind the others and removed. save is called before each step; interrupted after any, the rewriting
// continues with the saved progress. Nobody else may use the stream meanwhile.
func (c *Conn) rewriteStream(
	ctx context.Context, name string, at StreamRewrite, save func(StreamRewrite) error, rewrite func(*nats.Msg) error,
) error {
	if at.Done {
		return nil
	}
	stream, err := c.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return unavailable(ctx, "rewriting stream "+name, err)
	}
	if at.Last == 0 {
		at.Last = stream.CachedInfo().State.LastSeq
		if err := save(at); err != nil {
			return err
		}
	}
	for {
		more, err := c.rewriteNext(ctx, stream, &at, save, rewrite)
		if err != nil {
			return fmt.Errorf("rewrite stream %s: %w", name, err)
		}
		if !more {
			at.Done = true
			return save(at)
		}
	}
}

// rewriteNext moves one batch. It reports whether messages remain.
func (c *Conn) rewriteNext(
	ctx context.Context, stream jetstream.Stream, at *StreamRewrite, save func(StreamRewrite) error, rewrite func(*nats.Msg) error,
) (more bool, err error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return false, err
	}
	if at.Batch != 0 && !at.Copied {
		for seq := at.Behind + 1; seq <= info.State.LastSeq; seq++ { // Copies of an interrupted attempt.
			if err := stream.DeleteMsg(ctx, seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !absent(ctx, stream, seq) {
				return false, err
			}
		}
	}
	if at.Batch == 0 || !at.Copied {
		batch, err := readBatch(ctx, stream, at.Last)
		if err != nil || len(batch) == 0 {
			return false, err
		}
		if at.Batch == 0 {
			at.Behind = info.State.LastSeq
		}
		at.Batch, at.Copied = batch[len(batch)-1].Sequence, false
		if err := save(*at); err != nil {
			return false, err
		}
		for _, stored := range batch {
			if err := c.republish(ctx, stored, rewrite); err != nil {
				return false, err
			}
		}
		at.Copied = true
		if err := save(*at); err != nil {
			return false, err
		}
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(at.Batch+1)); err != nil {
		return false, err
	}
	at.Batch, at.Behind, at.Copied = 0, 0, false
	return true, save(*at)
}

// absent reports whether a message is not in a stream. The answer to a deletion does not tell.
func absent(ctx context.Context, stream jetstream.Stream, seq uint64) bool {
	_, err := stream.GetMsg(ctx, seq)
	return errors.Is(err, jetstream.ErrMsgNotFound)
}

// readBatch reads the first messages of a stream, up to a sequence.
func readBatch(ctx context.Context, stream jetstream.Stream, last uint64) ([]*jetstream.RawStreamMsg, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	var batch []*jetstream.RawStreamMsg
	size := 0
	for seq := info.State.FirstSeq; seq <= last && info.State.Msgs > 0 && len(batch) < rewriteBatch && size < MinMaxPayload; seq++ {
		stored, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		batch, size = append(batch, stored), size+len(stored.Data)
	}
	return batch, nil
}

// republish publishes the result of rewrite for a message.
func (c *Conn) republish(ctx context.Context, stored *jetstream.RawStreamMsg, rewrite func(*nats.Msg) error) error {
	msg := &nats.Msg{Subject: stored.Subject, Data: stored.Data, Header: nats.Header{}}
	for key, values := range stored.Header {
		if !strings.HasPrefix(key, "Nats-") { // Those are the server's, such as the id against duplicates.
			msg.Header[key] = values
		}
	}
	if err := rewrite(msg); err != nil {
		return err
	}
	_, err := c.js.PublishMsg(ctx, msg)
	return err
}

// RewriteEvents rewrites the events that durable consumers have not handled, or the dead letters: the stream is StreamEvents or
// StreamDeadLetters. A message that cannot be decoded stays as it is.
func (c *Conn) RewriteEvents(ctx context.Context, stream string, at StreamRewrite, save func(StreamRewrite) error, rewrite func(*Event) error) error {
	return c.rewriteStream(ctx, stream, at, save, func(msg *nats.Msg) error { return rewriteEvents(msg, rewrite) })
}

func rewriteEvents(msg *nats.Msg, rewrite func(*Event) error) error {
	data, err := decompress(nil, msg.Header, msg.Data)
	if err != nil {
		return nil //nolint:nilerr // It is not decodable for its consumers either.
	}
	single := msg.Header.Get(headerContentType) == contentTypeEvent
	var events []Event
	if single {
		var e Event
		e, err = decodeEvent(data)
		events = []Event{e}
	} else {
		events, err = decodeFrame(nil, data)
	}
	if err != nil || len(events) == 0 {
		return nil //nolint:nilerr // As above.
	}
	var frame []byte
	for i := range events {
		if err := rewrite(&events[i]); err != nil {
			return err
		}
		if !single {
			frame = append(frame, separator(i))
		}
		frame = appendEvent(frame, &events[i])
	}
	if !single {
		frame = append(frame, ']')
	} else if msg.Header.Get(headerEventType) != "" { // A list of dead letters reads the header alone.
		msg.Header.Set(headerEventType, headerValue(errors.New(events[0].Type)))
	}
	msg.Header.Del(headerContentEncoding)
	msg.Data = frame
	return nil
}

// separator precedes the event at a position of a frame.
func separator(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// RewriteJournal rewrites the entries of a journal.
func (c *Conn) RewriteJournal(ctx context.Context, name string, at StreamRewrite, save func(StreamRewrite) error, rewrite func(entry []byte) ([]byte, error)) error {
	j := &Journal{conn: c, name: name}
	return c.rewriteStream(ctx, j.stream(), at, save, func(msg *nats.Msg) error {
		next, err := rewrite(msg.Data)
		if err != nil {
			return err
		}
		msg.Data = next
		return nil
	})
}

// InUse names a stream whose messages another process consumes or watches now; empty for none.
func (c *Conn) InUse(ctx context.Context) (stream string, err error) {
	names := c.js.StreamNames(ctx)
	for name := range names.Name() {
		s, err := c.js.Stream(ctx, name)
		if err != nil {
			return "", unavailable(ctx, "reading stream "+name, err)
		}
		consumers := s.ListConsumers(ctx)
		for info := range consumers.Info() {
			if info.PushBound || info.NumWaiting > 0 {
				stream = name
			}
		}
		if err := consumers.Err(); err != nil {
			return "", unavailable(ctx, "listing consumers of "+name, err)
		}
	}
	return stream, unavailable(ctx, "listing streams", names.Err())
}
