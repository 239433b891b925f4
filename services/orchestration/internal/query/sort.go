package query

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// sortFields are the document fields whose names differ from the lower-case name of the sort, by enum; "" applies to
// all.
var sortFields = map[protoreflect.FullName]map[string][]string{
	"": {"ID": {}}, // Every sort ends with the id.
	// Runs that have not started are sorted by their expected start time.
	"orch.v1.FlowRunSort":       {"START_TIME": {"sort_start"}},
	"orch.v1.BlockDocumentSort": {"BLOCK_TYPE_AND_NAME": {"block_type_name", "name"}},
}

// Computed reports whether a sort is by a value that depends on the present time, which no index and no document has.
func Computed(e protoreflect.Enum) bool {
	return e == orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_DESC || e == orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_ASC
}

// Sort returns the sort document of a value of a sort enum, such as FLOW_RUN_SORT_START_TIME_DESC. Every sort ends with
// _id in the same direction, so pages do not overlap and one index serves both directions. Documents without the field
// come first when ascending and last when descending.
func Sort(e protoreflect.Enum) (bson.D, error) {
	ed := e.Descriptor()
	value, ok := restjson.EnumWord(ed, e.Number())
	if !ok || Computed(e) {
		return nil, fmt.Errorf("query: %s %d: %w", ed.Name(), e.Number(), ErrSort)
	}
	name, asc := strings.CutSuffix(value, "_ASC")
	direction := 1
	if !asc {
		if name, ok = strings.CutSuffix(value, "_DESC"); !ok {
			return nil, fmt.Errorf("query: %s %s: %w", ed.Name(), value, ErrSort)
		}
		direction = -1
	}
	fields, ok := sortFields[ed.FullName()][name]
	if !ok {
		if fields, ok = sortFields[""][name]; !ok {
			fields = []string{strings.ToLower(name)}
		}
	}
	var order bson.D
	for _, field := range fields {
		order = append(order, bson.E{Key: field, Value: direction})
	}
	return append(order, bson.E{Key: "_id", Value: direction}), nil
}

// uniqueFields are the fields whose values are unique in a workspace, by collection.
var uniqueFields = sync.OnceValue(func() map[Collection][]string {
	fields := map[Collection][]string{}
	for _, ix := range Indexes() {
		if ix.Unique && ix.Partial == nil && len(ix.Keys) == 2 && ix.Keys[0].Key == workspaceKey {
			fields[ix.Collection] = append(fields[ix.Collection], ix.Keys[1].Key)
		}
	}
	return fields
})

// ordering returns the sort that a server executes: fields behind a unique one decide nothing. MongoDB takes an order from an index only
// if the index has all fields of the sort, and a unique index ends with its unique field.
func ordering(c Collection, filter, sort any) any {
	within, scoped := filter.(bson.D)
	fields, ok := sort.(bson.D)
	if !scoped || !ok || len(within) == 0 || len(fields) == 0 || within[0].Key != workspaceKey || !slices.Contains(uniqueFields()[c], fields[0].Key) {
		return sort
	}
	return fields[:1]
}
