package taskruns

import (
	"cmp"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// merge makes a run tell what an event says of it, and reports whether that changed it. Which state is the run's is
// decided by the states' moments alone, and where they are equal by their ids; each field is that of the latest state
// whose event carried it. So neither the order of the events nor their repetition matters:
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

// order compares two states of a run by their age; a run without state is older than any.
func order(a, b *orchv1.State) int {
	if b == nil {
		return 1
	}
	if a.GetId() == b.GetId() {
		return 0
	}
	return cmp.Or(a.GetTimestamp().AsTime().Compare(b.GetTimestamp().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
}

// advance gives the run a later state.
func advance(run *orchv1.TaskRun, e *recorded) {
	to, from := run.ProtoReflect(), e.run.ProtoReflect()
	for _, fd := range recordable {
		name := string(fd.Name())
		switch {
		case e.carried[fd.Name()]:
			assign(to, from, fd)
			delete(run.FieldTimes, name)
		case run.FieldTimes[name] == nil && (!fd.HasPresence() || to.Has(fd)):
			// A run without state has its fields from nobody: whatever tells of them is later.
			note(run, fd, run.GetState().GetTimestamp())
		}
	}
	run.State = e.state
	run.SortStart = sortStart(run)
}

// fill takes from an earlier state what no later one told of.
func fill(run *orchv1.TaskRun, e *recorded) bool {
	to, from := run.ProtoReflect(), e.run.ProtoReflect()
	changed := false
	for _, fd := range recordable {
		if !e.carried[fd.Name()] {
			continue
		}
		since, noted := run.FieldTimes[string(fd.Name())]
		// Of a field that can be absent and is, no event told.
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

// note keeps the moment of the state that a field is from; a nil one is before all others.
func note(run *orchv1.TaskRun, fd protoreflect.FieldDescriptor, at *timestamppb.Timestamp) {
	if at == nil {
		at = &timestamppb.Timestamp{}
	}
	if run.FieldTimes == nil {
		run.FieldTimes = map[string]*timestamppb.Timestamp{}
	}
	run.FieldTimes[string(fd.Name())] = at
}

// sortStart is the start of a run or, where it has not started, when it was expected to.
func sortStart(run *orchv1.TaskRun) *timestamppb.Timestamp {
	if run.StartTime != nil {
		return run.StartTime
	}
	return run.ExpectedStartTime
}
