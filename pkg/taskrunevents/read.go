// Package taskrunevents reads the events by which clients report the states of their task runs. The same reading validates them at
// ingestion and records them later, so an event that is accepted can be recorded.
package taskrunevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrUnreadable means an event that does not describe a task run's state.
var ErrUnreadable = errors.New("the event describes no task run state")

// Report is the content of a client's task run event.
type Report struct {
	Event uuid.UUID
	// Run has the event's fields and the run's ids.
	Run *orchv1.TaskRun
	// Carried names those fields.
	Carried map[protoreflect.Name]bool
	// State is the reported state, without a name if the event has none.
	State *orchv1.State
	// Flow is the flow that the event names; nil if it names none.
	Flow *string
}

// Fields are those of client events. The flow run is a related resource; the others are in the payload.
var Fields = func() []protoreflect.FieldDescriptor {
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

// Event is an event as its client sent it, or as it was received.
type Event interface {
	GetId() string
	GetEvent() string
	GetOccurred() *timestamppb.Timestamp
	GetResource() *orchv1.Resource
	GetRelated() []*orchv1.RelatedResource
	GetPayload() []byte
}

// OfClient reports whether a client published the event for a task run state that it decided on.
func OfClient(v vocabulary.Vocabulary, e Event) bool {
	rest, ofServer := strings.CutPrefix(e.GetEvent(), v.String()) // Name would allocate for each event.
	return ofServer && strings.HasPrefix(rest, ".task-run.") && e.GetResource().GetLabels()[v.Name("orchestration")] == "client"
}

// Read parses such an event. Its id and time are those of the state.
func Read(v vocabulary.Vocabulary, e Event) (*Report, error) {
	id, err := uuid.Parse(e.GetId())
	if err != nil {
		return nil, fmt.Errorf("%w: its id: %w", ErrUnreadable, err)
	}
	run, err := object(v, e.GetResource().GetLabels(), "task-run")
	if err != nil {
		return nil, fmt.Errorf("%w: its resource: %w", ErrUnreadable, err)
	}
	var payload struct {
		State json.RawMessage `json:"validated_state"`
		Run   json.RawMessage `json:"task_run"`
	}
	if err := json.Unmarshal(e.GetPayload(), &payload); err != nil {
		return nil, fmt.Errorf("%w: its payload: %w", ErrUnreadable, err)
	}
	r := &Report{Event: id, Carried: map[protoreflect.Name]bool{}}
	if err := r.readRun(payload.Run); err != nil {
		return nil, fmt.Errorf("%w: its task run: %w", ErrUnreadable, err)
	}
	r.Run.Id = run
	// The first resource of a role counts: a client that runs several flows in one process may append earlier ones.
	for _, related := range e.GetRelated() {
		labels := related.GetLabels()
		switch labels[v.ResourceRole()] {
		case "flow-run":
			if r.Run.FlowRunId != nil {
				continue
			}
			id, err := object(v, labels, "flow-run")
			if err != nil {
				return nil, fmt.Errorf("%w: its flow run: %w", ErrUnreadable, err)
			}
			r.Run.FlowRunId, r.Carried["flow_run_id"] = &id, true
		case "flow":
			if id, err := object(v, labels, "flow"); err == nil && r.Flow == nil {
				r.Flow = &id
			}
		}
	}
	if err := r.readState(payload.State, e); err != nil {
		return nil, fmt.Errorf("%w: its state: %w", ErrUnreadable, err)
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

func (r *Report) readRun(text json.RawMessage) error {
	recorded := &orchv1.RecordedTaskRun{}
	if err := member(text, recorded, "task_run"); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, path := range recorded.GetUpdateMask().GetPaths() {
		there[path] = path != "flow_run_id"
	}
	r.Run = &orchv1.TaskRun{}
	from, to := recorded.GetTaskRun().ProtoReflect(), r.Run.ProtoReflect()
	for _, fd := range Fields {
		// A null means the same as an absent field.
		if !there[string(fd.Name())] || (fd.HasPresence() && !from.Has(fd)) {
			continue
		}
		r.Carried[fd.Name()] = true
		if from.Has(fd) {
			to.Set(fd, from.Get(fd))
		}
	}
	if r.Run.GetTaskKey() == "" || r.Run.GetDynamicKey() == "" {
		return errors.New("its keys are missing")
	}
	return nil
}

func (r *Report) readState(text json.RawMessage, e Event) error {
	recorded := &orchv1.RecordedState{}
	if err := member(text, recorded, "validated_state"); err != nil {
		return err
	}
	r.State = recorded.GetValidatedState()
	if r.State.GetType() == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
		return errors.New("its type is missing")
	}
	r.State.Id, r.State.Timestamp = r.Event.String(), e.GetOccurred()
	if r.State.StateDetails == nil {
		r.State.StateDetails = &orchv1.StateDetails{}
	}
	if r.State.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && r.State.StateDetails.ScheduledTime == nil {
		r.State.StateDetails.ScheduledTime = e.GetOccurred()
	}
	r.State.StateDetails.FlowRunId = r.Run.FlowRunId
	return nil
}
