package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Judgement is what transitions of flow runs and of task runs have in common: the states, the verdict, and the fields
// that both kinds of runs keep.
type Judgement struct {
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

	ledger ledger
	status orchv1.SetStateStatus
	reason string
	delay  time.Duration
}

// ledger points to where a run keeps when it ran and how often.
type ledger struct {
	start, end, expectedStart, nextScheduledStart, sortStart **timestamppb.Timestamp
	totalRunTime                                             *float64
	runCount                                                 *int64
}

// propose begins the judgement of a proposal. It is completed: an id, a moment, a name, and for SCHEDULED a time.
func propose(initial *orchv1.State, proposal *orchv1.StateCreate, l ledger, now time.Time, newID func() uuid.UUID) Judgement {
	t := Judgement{
		Initial:  initial,
		Intended: proposal.GetType(),
		Now:      now,
		NewID:    newID,
		ledger:   l,
		status:   orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT,
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

// judgement lets the engine and the shared rules reach the common part of either kind of transition.
func (t *Judgement) judgement() *Judgement { return t }

// newState makes a state as rules propose it. An empty name is the type's own.
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

// NewDetails are the details of a state that the server makes: what a client does not say of its own states either. The
// time is that of a SCHEDULED state, else nil.
func NewDetails(scheduledTime *timestamppb.Timestamp) *orchv1.StateDetails {
	return &orchv1.StateDetails{Deferred: new(bool), ScheduledTime: scheduledTime}
}

// Word is a type as clients write it.
func Word(kind orchv1.StateType) string { return kind.String()[len("STATE_TYPE_"):] }

// DefaultName is a state's name when nobody gave one: the type, capitalised.
func DefaultName(kind orchv1.StateType) string {
	word := []byte(Word(kind))
	for i := 1; i < len(word); i++ {
		word[i] += 'a' - 'A'
	}
	return string(word)
}

// reject writes another state instead of the proposed one, or none.
func (t *Judgement) reject(instead *orchv1.State, reason string) {
	t.Proposed, t.status, t.reason = instead, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, reason
}

// abort writes nothing and tells the client to give up.
func (t *Judgement) abort(reason string) {
	t.Proposed, t.status, t.reason = nil, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, reason
}

// wait writes nothing and tells the client to come again.
func (t *Judgement) wait(delay time.Duration, reason string) {
	t.Proposed, t.status, t.reason, t.delay = nil, orchv1.SetStateStatus_SET_STATE_STATUS_WAIT, reason, delay
}

func (t *Judgement) from() orchv1.StateType { return t.Initial.GetType() }

// to is none once the proposal is gone.
func (t *Judgement) to() orchv1.StateType { return t.Proposed.GetType() }

// Written tells whether the judgement writes a state; it is the run's state then.
func (t *Judgement) Written() bool { return t.Proposed != nil }

// Accepted tells whether the state that was proposed is the one that is written.
func (t *Judgement) Accepted() bool {
	return t.Written() && t.status == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
}

// Result is the judgement as clients read it.
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
		// Whole seconds, upwards: a client that waits as long finds the time come.
		seconds := int64((t.delay + time.Second - 1) / time.Second)
		return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Wait{Wait: &orchv1.StateWaitDetails{DelaySeconds: seconds, Reason: &t.reason}}}
	}
	return &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Accept{Accept: &orchv1.StateAcceptDetails{}}}
}
