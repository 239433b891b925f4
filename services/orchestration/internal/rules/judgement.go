package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Judgement is the common part of flow run and task run transitions: the states, the verdict, and the run fields of
// both kinds.
type Judgement struct {
	// Initial is the run's state; nil when it has none.
	Initial *orchv1.State
	// Proposed is the state to write; nil once nothing is to be written.
	Proposed *orchv1.State
	// Intended is the type that the client proposed.
	Intended orchv1.StateType
	// Now is the time of the decision.
	Now time.Time
	// NewID creates the ids of states that rules create.
	NewID func() uuid.UUID

	// transitionID is the id that the client gave the proposal; nil for none.
	transitionID *string

	times  runTimes
	status orchv1.SetStateStatus
	reason string
	delay  time.Duration
}

// runTimes points to the fields of a run that record its times and counts.
type runTimes struct {
	start, end, expectedStart, nextScheduledStart, sortStart **timestamppb.Timestamp
	totalRunTime                                             *float64
	runCount                                                 *int64
}

// propose starts the decision on a proposal. It adds a missing id, timestamp and name, and for SCHEDULED the scheduled
// time.
func propose(initial *orchv1.State, proposal *orchv1.StateCreate, times runTimes, now time.Time, newID func() uuid.UUID) Judgement {
	t := Judgement{
		Initial:  initial,
		Intended: proposal.GetType(),
		Now:      now,
		NewID:    newID,
		times:    times,
		status:   orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT,
	}
	if id := proposal.GetStateDetails().GetTransitionId(); id != "" {
		t.transitionID = &id
	}
	t.Proposed = t.newState(proposal.GetType(), proposal.GetName())
	t.Proposed.Message = proposal.Message
	t.Proposed.Data = proposal.Data
	if proposal.GetStateDetails() != nil {
		t.Proposed.StateDetails = proto.Clone(proposal.GetStateDetails()).(*orchv1.StateDetails)
	}
	if proposal.GetType() == scheduled && t.Proposed.StateDetails.ScheduledTime == nil {
		t.Proposed.StateDetails.ScheduledTime = timestamppb.New(now)
	}
	return t
}

// judgement gives the engine and the shared rules access to the common part of either kind of transition.
func (t *Judgement) judgement() *Judgement { return t }

// newState builds a state for a rule. An empty name means the type's default name.
func (t *Judgement) newState(kind orchv1.StateType, name string) *orchv1.State {
	if name == "" {
		name = DefaultName(kind)
	}
	return &orchv1.State{
		Id:           t.NewID().String(),
		Type:         kind,
		Name:         &name,
		Timestamp:    timestamppb.New(t.Now),
		StateDetails: NewDetails(nil),
	}
}

// NewDetails returns the details of a state that the server creates, without the fields that only clients set. The time
// is that of a SCHEDULED state, else nil.
func NewDetails(scheduledTime *timestamppb.Timestamp) *orchv1.StateDetails {
	return &orchv1.StateDetails{Deferred: new(bool), ScheduledTime: scheduledTime}
}

// statePrefix is the prefix of the types' names in the contract, which clients and documents omit.
const statePrefix = "STATE_TYPE_"

// StateName returns a type as clients write it and as it is stored.
func StateName(kind orchv1.StateType) string { return kind.String()[len(statePrefix):] }

// StateType returns the type with a name; unspecified for any other text.
func StateType(name string) orchv1.StateType {
	return orchv1.StateType(orchv1.StateType_value[statePrefix+name])
}

// DefaultName returns the default name of a state: the capitalised type.
func DefaultName(kind orchv1.StateType) string {
	name := []byte(StateName(kind))
	for i := 1; i < len(name); i++ {
		name[i] += 'a' - 'A'
	}
	return string(name)
}

// reject writes another state instead of the proposed one, or none.
func (t *Judgement) reject(instead *orchv1.State, reason string) {
	t.Proposed, t.status, t.reason = instead, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, reason
}

// abort writes nothing and makes the client give up.
func (t *Judgement) abort(reason string) {
	t.Proposed, t.status, t.reason = nil, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, reason
}

// wait writes nothing and makes the client retry later.
func (t *Judgement) wait(delay time.Duration, reason string) {
	t.Proposed, t.status, t.reason, t.delay = nil, orchv1.SetStateStatus_SET_STATE_STATUS_WAIT, reason, delay
}

func (t *Judgement) from() orchv1.StateType { return t.Initial.GetType() }

// to returns none if nothing is to be written.
func (t *Judgement) to() orchv1.StateType { return t.Proposed.GetType() }

// Written reports whether the decision writes a state, which then is the run's state.
func (t *Judgement) Written() bool { return t.Proposed != nil }

// Accepted reports whether the proposed state is written unchanged.
func (t *Judgement) Accepted() bool {
	return t.Written() && t.status == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
}

// Result returns the decision as clients read it.
func (t *Judgement) Result() *orchv1.OrchestrationResult {
	state := t.Proposed
	if state == nil {
		state = t.Initial
	}
	return &orchv1.OrchestrationResult{State: state, Status: t.status, Details: t.details()}
}

func (t *Judgement) details() *orchv1.TransitionDetails {
	switch t.status {
	case orchv1.SetStateStatus_SET_STATE_STATUS_REJECT:
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Reject{Reject: &orchv1.StateRejectDetails{Reason: &t.reason}}}
	case orchv1.SetStateStatus_SET_STATE_STATUS_ABORT:
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Abort{Abort: &orchv1.StateAbortDetails{Reason: &t.reason}}}
	case orchv1.SetStateStatus_SET_STATE_STATUS_WAIT:
		// Rounded up to whole seconds, so the time has come when the client retries.
		seconds := int64((t.delay + time.Second - 1) / time.Second)
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Wait{Wait: &orchv1.StateWaitDetails{DelaySeconds: seconds, Reason: &t.reason}}}
	}
	return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Accept{Accept: &orchv1.StateAcceptDetails{}}}
}
