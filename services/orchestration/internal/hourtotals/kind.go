package hourtotals

import (
	"slices"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Kind is a kind of documents with hour totals.
type Kind struct {
	// Collection has the documents.
	Collection query.Collection
	// Time is the field of the time that decides the hour, in microseconds. Documents without it belong to no hour.
	Time string
	// code is the kind in the ids of hour documents.
	code byte
	// state, name and child are the fields that rows distinguish: the type of a state, a name, and whether the field exists. The first
	// and the last may be empty.
	state, name, child string
	// counted are the fields of documents on which rows depend, besides Time.
	counted []string
	// lasting says that rows have the sums of run times and delays.
	lasting bool
}

// kinds are all kinds. A code must never change.
var kinds = []*Kind{
	{
		Collection: query.FlowRun, Time: "expected_start_time", code: 'f', state: "state.type", name: "state.name", child: "parent_task_run_id",
		counted: []string{"state", "start_time", "total_run_time"}, lasting: true,
	},
	{Collection: query.TaskRun, Time: "start_time", code: 't', state: "state.type", name: "state.name", counted: []string{"state"}},
	{Collection: query.Event, Time: "occurred", code: 'e', name: "event"},
}

// KindOf returns the kind of a collection's documents; nil if they have no hour totals.
func KindOf(collection query.Collection) *Kind {
	for _, kind := range kinds {
		if kind.Collection == collection {
			return kind
		}
	}
	return nil
}

// Counts reports whether rows depend on a field of documents.
func (k *Kind) Counts(field string) bool {
	return field == k.Time || slices.Contains(k.counted, field)
}
