package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ExecuteAll executes the complete outboxes of documents together before it returns, apart from the relay's queue. A
// writer of many documents calls it instead of waking the relay, so that its effects delay no others. It skips documents
// whose effects are being executed. After a failure the relay takes over.
func (r *Relay) ExecuteAll(ctx context.Context, collection query.Collection, boxes []store.Outbox) error {
	locked := make([]store.Outbox, 0, len(boxes))
	for _, box := range boxes {
		if r.tryLock(key{collection, box.ID}) == nil {
			locked = append(locked, box)
		}
	}
	if len(locked) == 0 {
		return nil
	}
	err := r.executeTogether(ctx, collection, locked)
	for _, box := range locked {
		r.unlock(key{collection, box.ID})
		if err != nil {
			r.Wake(collection, box.Workspace, box.ID)
		}
	}
	return err
}

// ExecuteAll is Relay.ExecuteAll. Without a relay the effects wait for a sweeper.
func (f Flusher) ExecuteAll(ctx context.Context, collection query.Collection, boxes []store.Outbox) error {
	if f.relay == nil {
		return nil
	}
	return f.relay.ExecuteAll(ctx, collection, boxes)
}

// errNoRelay reports effects that nothing executes.
var errNoRelay = errors.New("no relay")

// Execute executes effects that no document holds, in their order, before it returns. The caller has stored an effect that
// makes the call again, because a crash may interrupt it.
func (f Flusher) Execute(ctx context.Context, effects []store.Effect) error {
	for len(effects) > 0 {
		if f.relay == nil {
			return fmt.Errorf("execute effect %q: %w", effects[0].Kind, errNoRelay)
		}
		run := sameKind(effects)
		if err := f.relay.handle(ctx, effects[:run]); err != nil {
			return err
		}
		effects = effects[run:]
	}
	return nil
}
