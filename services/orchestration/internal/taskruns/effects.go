package taskruns

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// KindHistory is the effect that writes a history row.
	KindHistory = "task_run_state"
	// kindCache is the effect that writes a cache entry.
	kindCache = "task_run_cache"
)

// effects returns the effects of a written state: its history row and its event, both with the state's id, its cache
// entry and its slot changes. It omits the event if the client publishes it, or if the task run copies a flow run's
// states.
func (s *Service) effects(ws uuid.UUID, t *rules.TaskTransition, revision int64, published bool) ([]store.Effect, error) {
	state := t.Proposed
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a state: %w", err)
	}
	row, err := store.MessageEffect(KindHistory, id, t.Now, ws, &orchv1.TaskRunStateRecord{
		Id: state.GetId(), TaskRunId: t.Run.GetId(), RunRevision: &revision, Timestamp: state.GetTimestamp(), State: state,
	})
	if err != nil {
		return nil, err
	}
	caused := s.slotEffects(ws, t.Use)
	if t.Caches {
		// The cache comes first, so a reader of the completion soon finds the entry.
		entry, err := store.MessageEffect(kindCache, uuid.NewSHA1(id, []byte(kindCache)), t.Now, ws, t.CacheEntry())
		if err != nil {
			return nil, err
		}
		caused = append(caused, entry)
	}
	caused = append(caused, row)
	if published {
		return caused, nil
	}
	event, err := events.Publish(ws, s.event(t))
	if err != nil {
		return nil, err
	}
	return append(caused, event), nil
}

// WriteHistory writes history rows.
func (s *Service) WriteHistory(ctx context.Context, effects []store.Effect) error {
	return s.history.Write(ctx, effects)
}

// WriteCache writes cache entries.
func (s *Service) WriteCache(ctx context.Context, effects []store.Effect) error {
	return store.InsertMessages(ctx, s.cache, effects, func(entry *orchv1.TaskRunCacheEntry) time.Time {
		if entry.Expiration == nil {
			return time.Time{}
		}
		return entry.GetExpiration().AsTime()
	})
}

// event returns the event of a written state. It marks the server as the author, because the recorder ingests only
// events of clients that decide themselves.
func (s *Service) event(t *rules.TaskTransition) *orchv1.ReceivedEvent {
	run, v := t.Run, s.vocab
	var related []*orchv1.RelatedResource
	var flowRunTags []string
	if run.FlowRunId != nil {
		related = append(related, events.Related(v, "flow-run", run.GetFlowRunId(), "flow-run", t.Facts.FlowRun.GetName()))
		flowRunTags = t.Facts.FlowRun.GetTags()
	}
	if run.FlowId != nil {
		related = append(related, events.Related(v, "flow", run.GetFlowId(), "flow", ""))
	}
	if run.DeploymentId != nil {
		related = append(related, events.Related(v, "deployment", run.GetDeploymentId(), "deployment", ""))
	}
	event := events.Transition{
		Kind: "task-run", Of: run.GetId(), Name: run.GetName(), RunCount: run.GetRunCount(), Judgement: &t.Judgement,
		Related: append(related, events.Tags(v, run.GetTags(), flowRunTags)...),
	}.Event(v)
	event.Resource.Labels[v.Name("orchestration")] = "server"
	return event
}
