package outbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// patience is how long an answer waits for what a write causes: it may be any amount of work.
const patience = 2 * time.Second

// Hurry carries out what a write causes before the call that wrote is answered, so that who reads next sees it. What takes
// too long, or fails, the relay does later. The zero Hurry leaves everything to the relay.
type Hurry struct {
	// Flush carries out the effects of a document now.
	Flush func(ctx context.Context, collection query.Collection, id uuid.UUID) error
	Log   *slog.Logger
}

// Wait returns when the effects of a document are carried out, or its patience is at an end.
func (h Hurry) Wait(ctx context.Context, collection query.Collection, id uuid.UUID) {
	if h.Flush == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.Flush(ctx, collection, id); err != nil {
		h.Log.WarnContext(ctx, "what a change causes will follow later", "collection", collection, "id", id, "error", err)
	}
}
