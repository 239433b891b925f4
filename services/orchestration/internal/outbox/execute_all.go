package outbox

import (
	"context"

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
			r.Wake(collection, box.Workspace, box.ID, nil, nil)
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
