package flowruns

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
)

// KindHistory is the effect that writes a history row.
const KindHistory = "flow_run_state"

// effects returns the effects of a written state: its history row and event, both with the state's id. A subflow's
// state also changes its parent task run, and some retries change failed task runs.
func (s *Service) effects(ws uuid.UUID, t *rules.Transition, resources related, revision int64) ([]store.Effect, error) {
	row, err := record(ws, t, revision)
	if err != nil {
		return nil, err
	}
	event, err := events.Publish(ws, s.event(t, resources))
	if err != nil {
		return nil, err
	}
	effects := []store.Effect{row, event}
	if t.RetriesTasks {
		retry, err := taskruns.FlowRetry(ws, t.Run.GetId(), t.Proposed, t.Now)
		if err != nil {
			return nil, err
		}
		effects = append(effects, retry)
	}
	if t.Run.ParentTaskRunId == nil {
		return effects, nil
	}
	parent, err := taskruns.SubflowState(ws, t.Run, t.Proposed, t.Now)
	if err != nil {
		return nil, err
	}
	return append(effects, parent), nil
}

func record(ws uuid.UUID, t *rules.Transition, revision int64) (store.Effect, error) {
	state := t.Proposed
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a state: %w", err)
	}
	return store.MessageEffect(KindHistory, id, t.Now, ws, &orchv1.FlowRunStateRecord{
		Id: state.GetId(), FlowRunId: t.Run.GetId(), RunRevision: revision, Timestamp: state.GetTimestamp(), State: state,
	})
}

// event returns the event of a written state.
func (s *Service) event(t *rules.Transition, resources related) *orchv1.ReceivedEvent {
	run, v := t.Run, s.vocab
	related := []*orchv1.RelatedResource{events.Related(v, "flow", run.GetFlowId(), "flow", resources.flow.name)}
	if run.DeploymentId != nil {
		related = append(related, events.Related(v, "deployment", run.GetDeploymentId(), "deployment", resources.deployment.name))
	}
	if run.ParentTaskRunId != nil {
		related = append(related, events.Related(v, "task-run", run.GetParentTaskRunId(), "task-run", ""))
	}
	if run.WorkQueueId != nil {
		related = append(related, events.Related(v, "work-queue", run.GetWorkQueueId(), "work-queue", run.GetWorkQueueName()))
	}
	if run.WorkPoolId != nil {
		pool := events.Related(v, "work-pool", run.GetWorkPoolId(), "work-pool", run.GetWorkPoolName())
		pool.GetLabels()[v.Name("work-pool", "type")] = resources.poolType
		related = append(related, pool)
	}
	related = append(related, events.Tags(v, run.GetTags(), resources.flow.tags, resources.deployment.tags)...)
	if by := run.GetCreatedBy(); by != nil {
		switch by.GetType() {
		case "DEPLOYMENT", "AUTOMATION":
			related = append(related, events.Related(v, strings.ToLower(by.GetType()), by.GetId(), "creator", by.GetDisplayValue()))
		}
	}
	return events.Transition{
		Kind: "flow-run", Of: run.GetId(), Name: run.GetName(), RunCount: run.GetRunCount(), Judgement: &t.Judgement,
		Related: related,
	}.Event(v)
}
