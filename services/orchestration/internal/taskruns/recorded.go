package taskruns

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/taskrunevents"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// recorded is the content of a client's task run event.
type recorded struct {
	event uuid.UUID
	// Run has the event's fields and the run's ids.
	run *orchv1.TaskRun
	// Carried names those fields.
	carried map[protoreflect.Name]bool
	state   *orchv1.State
	// Flow is the flow that the event names; nil if it names none.
	flow *string
}

// key identifies the run apart from its id.
func (r *recorded) key() naturalKey { return keyOf(r.run) }

// naturalKey is unique over the runs of a workspace.
type naturalKey struct{ flowRun, task, dynamic string }

func keyOf(run *orchv1.TaskRun) naturalKey {
	return naturalKey{run.GetFlowRunId(), run.GetTaskKey(), run.GetDynamicKey()}
}

// readRecorded parses a client's event. Its id and time are those of the state.
func readRecorded(v vocabulary.Vocabulary, e *orchv1.ReceivedEvent) (*recorded, error) {
	r, err := taskrunevents.Read(v, e)
	if err != nil {
		return nil, err
	}
	if r.State.Name == nil {
		r.State.Name = new(rules.DefaultName(r.State.GetType()))
	}
	return &recorded{event: r.Event, run: r.Run, carried: r.Carried, state: r.State, flow: r.Flow}, nil
}
