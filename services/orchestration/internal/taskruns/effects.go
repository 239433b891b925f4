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
	// KindHistory is the effect that writes a row of the history.
	KindHistory = "task_run_state"
	// kindCache is the effect that keeps a state under its cache key.
	kindCache = "task_run_cache"
)

// effects are what a written state causes: its row of the history and its event, both known by the state's id, and
// perhaps its entry in the cache and what becomes of slots. There is no event of what somebody else tells: a client that
// sends the events of its task runs by itself, or the flow run whose states a task run copies.
func (s *Service) effects(ws uuid.UUID, t *rules.TaskTransition, revision int64, told bool) ([]store.Effect, error) {
	state := t.Proposed
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a state: %w", err)
	}
	row, err := store.Carry(KindHistory, id, t.Now, ws, &orchv1.TaskRunStateRecord{
		Id: state.GetId(), TaskRunId: t.Run.GetId(), RunRevision: &revision, Timestamp: state.GetTimestamp(), State: state,
	})
	if err != nil {
		return nil, err
	}
	caused := s.slotEffects(ws, t.Use)
	if t.Caches {
		// The cache first: who reads of the completion finds the entry soon.
		entry, err := store.Carry(kindCache, uuid.NewSHA1(id, []byte(kindCache)), t.Now, ws, t.CacheEntry())
		if err != nil {
			return nil, err
		}
		caused = append(caused, entry)
	}
	caused = append(caused, row)
	if told {
		return caused, nil
	}
	event, err := events.Publish(ws, s.event(t))
	if err != nil {
		return nil, err
	}
	return append(caused, event), nil
}

// WriteHistory writes rows of the history.
func (s *Service) WriteHistory(ctx context.Context, effects []store.Effect) error {
	return s.history.Write(ctx, effects)
}

// WriteCache writes entries of the cache.
func (s *Service) WriteCache(ctx context.Context, effects []store.Effect) error {
	return s.cache.InsertCarried(ctx, effects, func(entry *orchv1.TaskRunCacheEntry) time.Time {
		if entry.Expiration == nil {
			return time.Time{}
		}
		return entry.GetExpiration().AsTime()
	})
}

// event is what the world learns of a written state. It says that the server judged it: the events of clients that
// judge for themselves are recorded, those of the server are not.
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
