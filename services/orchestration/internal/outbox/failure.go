package outbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// minBackoff doubles with each attempt until maxBackoff.
	minBackoff = time.Second
	maxBackoff = 10 * time.Minute
	// outageBackoff is the time until the next attempt of a document that met an outage, which does not count as an attempt.
	outageBackoff = 5 * time.Second
	// maxAttempts is after how many failures of its own an effect becomes a dead letter: about two hours.
	maxAttempts = 20
)

// failure is why a document's outbox is not empty.
type failure struct {
	ws       uuid.UUID
	attempts int // Before this one.
	err      error
	blocked  bool // It was blocked before; nothing was attempted.
}

// permanent reports whether another attempt cannot succeed: by its kind, or because too many have failed.
func (r *Relay) permanent(err error, attempts int) bool {
	return store.IsPermanent(err) || attempts+1 >= maxAttempts && !isolation.IsOutage(err)
}

// backoff is the time until the next attempt, after so many failed ones: between half of and all of an exponentially growing
// delay.
func (r *Relay) backoff(attempts int) time.Duration {
	delay := maxBackoff
	if shift := attempts - 1; shift < 10 {
		delay = min(maxBackoff, minBackoff<<max(shift, 0))
	}
	return r.jitter(delay)
}

func (r *Relay) jitter(delay time.Duration) time.Duration {
	return delay/2 + time.Duration(r.random()*float64(delay/2))
}

// deferFailures records the failures of a batch in the documents. While the store is unreachable there is no record; the
// sweeper then finds the effects by their age. So it finds those that were not attempted during an outage.
func (r *Relay) deferFailures(ctx context.Context, b *batch) {
	if ctx.Err() != nil {
		return
	}
	now := r.store.Now()
	var records []store.Failure
	for id, f := range b.failures {
		switch {
		case f.blocked || errors.Is(f.err, errBlocked): // Recorded already.
		case wasSuspended(f.err):
		case isolation.IsOutage(f.err):
			// Other documents are attempted first, in case that only this one meets the outage.
			records = append(records, store.Failure{DocumentKey: store.DocumentKey{Workspace: f.ws, ID: id}, Attempts: f.attempts, NextAt: now.Add(r.jitter(outageBackoff))})
		default:
			next := r.backoff(f.attempts + 1)
			r.log.WarnContext(ctx, "failed to execute effects; retrying", "collection", b.collection, "id", id,
				"attempts", f.attempts+1, "retry_in", next.Round(time.Millisecond), "error", f.err)
			records = append(records, store.Failure{DocumentKey: store.DocumentKey{Workspace: f.ws, ID: id}, Attempts: f.attempts + 1, NextAt: now.Add(next)})
		}
	}
	if len(records) == 0 {
		return
	}
	if err := r.store.Defer(ctx, b.collection, records...); err != nil {
		r.log.WarnContext(ctx, "failed to record failures of effects", "collection", b.collection, "error", err)
	}
}

// DeadLetter writes a dead letter for an effect that is in no outbox. RetryDeadLetter executes it by the handler of its kind.
func (r *Relay) DeadLetter(ctx context.Context, collection query.Collection, document uuid.UUID, e store.Effect, attempts int, reason error) error {
	return r.moveToDeadLetters(ctx, collection, store.Outbox{DocumentKey: store.DocumentKey{ID: document}, Attempts: attempts - 1}, e, reason)
}

// moveToDeadLetters moves an effect to the dead letters. The effect leaves the outbox with those that were executed, unless its kind
// blocks the document.
func (r *Relay) moveToDeadLetters(ctx context.Context, collection query.Collection, box store.Outbox, e store.Effect, reason error) error {
	letter := store.DeadLetter{
		ID: e.ID, Kind: e.Kind, Collection: collection, Document: box.ID, DocumentWorkspace: box.Workspace, Workspace: e.Workspace(), At: e.At, FailedAt: r.store.Now(),
		Attempts: box.Attempts + 1, Reason: text(reason), Blocking: r.handlers.handler(e.Kind).Blocking,
	}
	body, err := r.secrets.Seal(effectField(letter), e.Body)
	if err != nil {
		return err
	}
	letter.Body = body
	if err := r.write(ctx, letter); err != nil {
		return err
	}
	r.metrics.deadLetters.WithLabelValues(e.Kind).Inc()
	r.log.ErrorContext(ctx, "failed to execute an effect; it became a dead letter", "id", e.ID, "kind", e.Kind, "collection", collection,
		"document", box.ID, "workspace", letter.Workspace, "attempts", letter.Attempts, "error", reason)
	if !letter.Blocking {
		return nil
	}
	if err := r.store.Defer(ctx, collection, store.Failure{DocumentKey: box.DocumentKey, Attempts: box.Attempts + 1, Blocked: e.Kind}); err != nil {
		return err
	}
	return errBlocked
}

// maxReason bounds the reason of a dead letter, in bytes.
const maxReason = 1024

// text is an error as one valid text of bounded length.
func text(err error) string {
	s := strings.ToValidUTF8(err.Error(), "?")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason-len("…")], "") + "…"
	}
	return s
}
