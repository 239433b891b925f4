package taskruns

import (
	"cmp"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/taskrunevents"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// merge applies an event to a run and reports whether it changed the run. The timestamps of the states decide which
// state is current, and their ids decide ties. Each field comes from the latest state whose event carried it. So the
// order and repetition of events do not matter:
//
//	                  │ carried by the event        │ not carried
//	──────────────────┼─────────────────────────────┼──────────────────────────────────────
//	a later state     │ the event's                 │ stays, and its moment is noted
//	an earlier state  │ stays, unless what is there │ stays
//	                  │ is of a still earlier one   │
//	the same state    │ stays                       │ stays
func merge(run *orchv1.TaskRun, e *recorded) bool {
	switch order(e.state, run.GetState()) {
	case 0:
		return false
	case 1:
		advance(run, e)
		return true
	}
	return fill(run, e)
}

// order compares two states of a run by age; a missing state is the oldest.
func order(a, b *orchv1.State) int {
	if b == nil {
		return 1
	}
	if a.GetId() == b.GetId() {
		return 0
	}
	return cmp.Or(a.GetTimestamp().AsTime().Compare(b.GetTimestamp().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
}

// advance sets a later state.
func advance(run *orchv1.TaskRun, e *recorded) {
	to, from := run.ProtoReflect(), e.run.ProtoReflect()
	for _, fd := range taskrunevents.Fields {
		name := string(fd.Name())
		switch {
		case e.carried[fd.Name()]:
			assign(to, from, fd)
			delete(run.FieldTimes, name)
		case run.FieldTimes[name] == nil && (!fd.HasPresence() || to.Has(fd)):
			// Without a state no event has set the fields, so every event is later.
			note(run, fd, run.GetState().GetTimestamp())
		}
	}
	run.State = e.state
	run.SortStart = sortStart(run)
}

// fill copies fields of an earlier state that no later one carried.
func fill(run *orchv1.TaskRun, e *recorded) bool {
	to, from := run.ProtoReflect(), e.run.ProtoReflect()
	changed := false
	for _, fd := range taskrunevents.Fields {
		if !e.carried[fd.Name()] {
			continue
		}
		since, noted := run.FieldTimes[string(fd.Name())]
		// No event carried an absent optional field.
		unset := fd.HasPresence() && !to.Has(fd)
		if unset || (noted && e.state.GetTimestamp().AsTime().After(since.AsTime())) {
			assign(to, from, fd)
			note(run, fd, e.state.GetTimestamp())
			changed = true
		}
	}
	if changed {
		run.SortStart = sortStart(run)
	}
	return changed
}

func assign(to, from protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if from.Has(fd) {
		to.Set(fd, from.Get(fd))
	} else {
		to.Clear(fd)
	}
}

// note records the timestamp of the state that set a field; nil precedes all others.
func note(run *orchv1.TaskRun, fd protoreflect.FieldDescriptor, at *timestamppb.Timestamp) {
	if at == nil {
		at = &timestamppb.Timestamp{}
	}
	if run.FieldTimes == nil {
		run.FieldTimes = map[string]*timestamppb.Timestamp{}
	}
	run.FieldTimes[string(fd.Name())] = at
}

// sortStart is the start of a run, or its expected start if it has not started.
func sortStart(run *orchv1.TaskRun) *timestamppb.Timestamp {
	if run.StartTime != nil {
		return run.StartTime
	}
	return run.ExpectedStartTime
}
