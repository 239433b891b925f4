package outbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// FlushDeadline is the default bound of the time that a response waits for the effects of its write: they may be any amount of
// work.
const FlushDeadline = 2 * time.Second

// Flusher executes the effects of a write before the call that wrote returns, so that the next read sees them. The zero
// Flusher leaves every effect to the relay.
type Flusher struct {
	relay    *Relay
	deadline time.Duration
	log      *slog.Logger
}

// NewFlusher returns a flusher that executes effects through the relay. A response waits at most for the deadline.
func NewFlusher(relay *Relay, deadline time.Duration, log *slog.Logger) Flusher {
	return Flusher{relay: relay, deadline: deadline, log: log}
}

// Flush returns when the effects of a document of a workspace are executed, when one of them failed, or at the flush deadline. The relay
// executes later what is left; the log says so.
func (f Flusher) Flush(ctx context.Context, collection query.Collection, ws, id uuid.UUID) {
	if f.relay == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.deadline)
	defer cancel()
	if err := f.relay.Flush(ctx, collection, ws, id); err != nil {
		f.log.WarnContext(ctx, "failed to execute the effects of a write at once; they are delayed", "collection", collection, "id", id, "error", err)
	}
}
