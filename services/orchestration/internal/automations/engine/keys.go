package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// recountEvery is how often the keys of an automation that reached the limit are counted again: closed ones are removed.
const recountEvery = time.Minute

// keyCount is how many for_each keys an automation counts, as far as this process knows.
type keyCount struct {
	n       int
	counted time.Time
}

// admitKey reports whether an automation may count one more for_each key. Events of further keys are not counted.
func (t *workspaceEvaluator) admitKey(ctx context.Context, n *trigger.Node) bool {
	limit, id, now := t.engine.Bounds.KeysPerAutomation, n.Automation.ID, t.engine.now()
	if limit <= 0 {
		return true
	}
	count := t.keys[id]
	if count == nil || (count.n >= limit && now.Sub(count.counted) >= recountEvery) {
		stored, err := t.countKeys(ctx, id)
		if err != nil {
			t.engine.Log.WarnContext(ctx, "failed to count the keys of an automation", "automation", id, "error", err)
			return true
		}
		count = &keyCount{n: stored, counted: now}
		t.keys[id] = count
	}
	if count.n >= limit {
		return t.refuse(ctx, id, limited{n.Automation.Message, limitKeys, limit, now.Unix() / int64(time.Hour/time.Second)})
	}
	count.n++
	return true
}

func (t *workspaceEvaluator) countKeys(ctx context.Context, automation uuid.UUID) (int, error) {
	n, err := t.engine.buckets.Count(ctx, t.ws, store.Query{Filter: bson.D{{Key: "automation_id", Value: store.Binary(automation)}}})
	return int(n), err
}
