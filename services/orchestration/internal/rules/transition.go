package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Transition is one judgement in the making.
type Transition struct {
	// Run is a copy of the run that transforms and hooks write into; its State is still the initial one.
	Run *orchv1.FlowRun
	// Initial is the run's state; nil when it has none.
	Initial *orchv1.State
	// Proposed is what will be written; nil once nothing will.
	Proposed *orchv1.State
	// Intended is the type that the client proposed.
	Intended orchv1.StateType
	// Now is the moment of the judgement.
	Now time.Time
	// NewID mints ids of states that rules make.
	NewID func() uuid.UUID

	status orchv1.SetStateStatus
	reason string
	delay  time.Duration
}

// Propose makes a transition of a run to a proposed state. The run is copied, the proposal is completed: an id, a
// moment, a name, and for SCHEDULED a time.
func Propose(run *orchv1.FlowRun, proposal *orchv1.StateCreate, now time.Time, newID func() uuid.UUID) *Transition {
	t := &Transition{
		Run:      proto.Clone(run).(*orchv1.FlowRun),
		Initial:  run.GetState(),
		Intended: proposal.GetType(),
		Now:      now,
		NewID:    newID,
		status:   orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT,
	}
	if t.Run.EmpiricalPolicy == nil {
		t.Run.EmpiricalPolicy = &orchv1.FlowRunPolicy{}
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

// newState makes a state as rules propose it. An empty name is the type's own.
func (t *Transition) newState(kind orchv1.StateType, name string) *orchv1.State {
	if name == "" {
		name = DefaultName(kind)
	}
	return &orchv1.State{
		Id:           t.NewID().String(),
		Type:         kind,
		Name:         &name,
		Timestamp:    timestamppb.New(t.Now),
		StateDetails: &orchv1.StateDetails{},
	}
}

// DefaultName is a state's name when nobody gave one: the type, capitalised.
func DefaultName(kind orchv1.StateType) string {
	word := []byte(kind.String()[len("STATE_TYPE_"):])
	for i := 1; i < len(word); i++ {
		word[i] += 'a' - 'A'
	}
	return string(word)
}

// reject writes another state instead of the proposed one, or none.
func (t *Transition) reject(instead *orchv1.State, reason string) {
	t.Proposed, t.status, t.reason = instead, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, reason
}

// abort writes nothing and tells the client to give up.
func (t *Transition) abort(reason string) {
	t.Proposed, t.status, t.reason = nil, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, reason
}

// wait writes nothing and tells the client to come again.
func (t *Transition) wait(delay time.Duration, reason string) {
	t.Proposed, t.status, t.reason, t.delay = nil, orchv1.SetStateStatus_SET_STATE_STATUS_WAIT, reason, delay
}

func (t *Transition) from() orchv1.StateType { return t.Initial.GetType() }

// to is none once the proposal is gone.
func (t *Transition) to() orchv1.StateType { return t.Proposed.GetType() }

// Written tells whether the judgement writes a state; it is Run.State then.
func (t *Transition) Written() bool { return t.Proposed != nil }

// Result is the judgement as clients read it.
func (t *Transition) Result() *orchv1.OrchestrationResult {
	state := t.Proposed
	if state == nil {
		state = t.Initial
	}
	return &orchv1.OrchestrationResult{State: state, Status: t.status, Details: t.details()}
}

func (t *Transition) details() *orchv1.TransitionDetails {
	switch t.status {
	case orchv1.SetStateStatus_SET_STATE_STATUS_REJECT:
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Reject{Reject: &orchv1.StateRejectDetails{Reason: &t.reason}}}
	case orchv1.SetStateStatus_SET_STATE_STATUS_ABORT:
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Abort{Abort: &orchv1.StateAbortDetails{Reason: &t.reason}}}
	case orchv1.SetStateStatus_SET_STATE_STATUS_WAIT:
		// Whole seconds, upwards: a client that waits as long finds the time come.
		seconds := int64((t.delay + time.Second - 1) / time.Second)
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Wait{Wait: &orchv1.StateWaitDetails{DelaySeconds: seconds, Reason: &t.reason}}}
	}
	return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Accept{Accept: &orchv1.StateAcceptDetails{}}}
}
