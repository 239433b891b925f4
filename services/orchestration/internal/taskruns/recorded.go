package taskruns

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// errUnrecordable reports an event that does not describe a task run's state.
var errUnrecordable = errors.New("the event describes no task run state")

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

// recordable are the fields of client events. The flow run is a related resource; the others are in the payload.
var recordable = func() []protoreflect.FieldDescriptor {
	fields := (&orchv1.TaskRun{}).ProtoReflect().Descriptor().Fields()
	var list []protoreflect.FieldDescriptor
	for _, name := range []protoreflect.Name{
		"flow_run_id", "name", "task_key", "dynamic_key", "cache_key", "cache_expiration", "task_version", "empirical_policy", "tags",
		"labels", "task_inputs", "run_count", "flow_run_run_count", "expected_start_time", "next_scheduled_start_time",
		"start_time", "end_time", "total_run_time",
	} {
		list = append(list, fields.ByName(name))
	}
	return list
}()

// ofClient reports whether a client published the event for a task run state that it decided on.
func ofClient(v vocabulary.Vocabulary, e *orchv1.ReceivedEvent) bool {
	return strings.HasPrefix(e.GetEvent(), v.Name("task-run")+".") &&
		e.GetResource().GetLabels()[v.Name("orchestration")] == "client"
}

// readRecorded parses such an event. Its id and time are those of the state.
func readRecorded(v vocabulary.Vocabulary, e *orchv1.ReceivedEvent) (*recorded, error) {
	id, err := uuid.Parse(e.GetId())
	if err != nil {
		return nil, fmt.Errorf("%w: its id: %w", errUnrecordable, err)
	}
	run, err := object(v, e.GetResource().GetLabels(), "task-run")
	if err != nil {
		return nil, fmt.Errorf("%w: its resource: %w", errUnrecordable, err)
	}
	var payload struct {
		State json.RawMessage `json:"validated_state"`
		Run   json.RawMessage `json:"task_run"`
	}
	if err := json.Unmarshal(e.GetPayload(), &payload); err != nil {
		return nil, fmt.Errorf("%w: its payload: %w", errUnrecordable, err)
	}
	r := &recorded{event: id, carried: map[protoreflect.Name]bool{}}
	if err := r.readRun(payload.Run); err != nil {
		return nil, fmt.Errorf("%w: its task run: %w", errUnrecordable, err)
	}
	r.run.Id = run
	// The first resource of a role counts: a client that runs several flows in one process may append earlier ones.
	for _, related := range e.GetRelated() {
		labels := related.GetLabels()
		switch labels[v.ResourceRole()] {
		case "flow-run":
			if r.run.FlowRunId != nil {
				continue
			}
			id, err := object(v, labels, "flow-run")
			if err != nil {
				return nil, fmt.Errorf("%w: its flow run: %w", errUnrecordable, err)
			}
			r.run.FlowRunId, r.carried["flow_run_id"] = &id, true
		case "flow":
			if id, err := object(v, labels, "flow"); err == nil && r.flow == nil {
				r.flow = &id
			}
		}
	}
	if err := r.readState(payload.State, e); err != nil {
		return nil, fmt.Errorf("%w: its state: %w", errUnrecordable, err)
	}
	return r, nil
}

// object returns the id of one of the server's resources from its label.
func object(v vocabulary.Vocabulary, labels map[string]string, kind string) (string, error) {
	text, ok := strings.CutPrefix(labels[v.ResourceID()], v.Name(kind)+".")
	if !ok {
		return "", fmt.Errorf("it is no %s", kind)
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return "", fmt.Errorf("read the id of a %s: %w", kind, err)
	}
	return id.String(), nil
}

// member decodes one member of the payload into its message, with the mask of present fields.
func member(text json.RawMessage, m proto.Message, name protoreflect.Name) error {
	if len(text) == 0 {
		return fmt.Errorf("%s is missing", name)
	}
	r := m.ProtoReflect()
	return restjson.UnmarshalField(text, r, r.Descriptor().Fields().ByName(name))
}

func (r *recorded) readRun(text json.RawMessage) error {
	said := &orchv1.RecordedTaskRun{}
	if err := member(text, said, "task_run"); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, path := range said.GetUpdateMask().GetPaths() {
		there[path] = path != "flow_run_id"
	}
	r.run = &orchv1.TaskRun{}
	from, to := said.GetTaskRun().ProtoReflect(), r.run.ProtoReflect()
	for _, fd := range recordable {
		// A null means the same as an absent field.
		if !there[string(fd.Name())] || (fd.HasPresence() && !from.Has(fd)) {
			continue
		}
		r.carried[fd.Name()] = true
		if from.Has(fd) {
			to.Set(fd, from.Get(fd))
		}
	}
	if r.run.GetTaskKey() == "" || r.run.GetDynamicKey() == "" {
		return errors.New("its keys are missing")
	}
	return nil
}

func (r *recorded) readState(text json.RawMessage, e *orchv1.ReceivedEvent) error {
	said := &orchv1.RecordedState{}
	if err := member(text, said, "validated_state"); err != nil {
		return err
	}
	r.state = said.GetValidatedState()
	if r.state.GetType() == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
		return errors.New("its type is missing")
	}
	r.state.Id, r.state.Timestamp = r.event.String(), e.GetOccurred()
	if r.state.Name == nil {
		r.state.Name = new(rules.DefaultName(r.state.GetType()))
	}
	if r.state.StateDetails == nil {
		r.state.StateDetails = &orchv1.StateDetails{}
	}
	if r.state.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && r.state.StateDetails.ScheduledTime == nil {
		r.state.StateDetails.ScheduledTime = e.GetOccurred()
	}
	r.state.StateDetails.FlowRunId = r.run.FlowRunId
	return nil
}
