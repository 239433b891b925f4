package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var taskRunResource = &resource{
	noun: "task-run", plural: "task_runs", argument: "TASK-RUN", page: 20,
	columns: append([]column{
		fieldColumn("ID", "id"), fieldColumn("NAME", "name"), fieldColumn("STATE", "state_name"), fieldColumn("START", "start_time"),
		secondsColumn("RUN TIME", "estimated_run_time"),
	}, wideColumns(fieldColumn("FLOW RUN", "flow_run_id"), fieldColumn("TASK", "task_key"), fieldColumn("END", "end_time"), fieldColumn("TAGS", "tags"))...),
	filters: []filter{
		{"flow-run", "task runs of a flow run, by id or name", byID("flow_runs", "/flow_runs")},
		{"flow", "task runs of a flow, by id or name", byID("flows", "/flows")},
		{"state", "task runs whose state has a type, such as failed; several are separated by commas", stateFilter("task_runs")},
		{"name", "task runs whose name contains a text", nameLike("task_runs")},
	},
	list: func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error) {
		query["sort"] = "EXPECTED_START_TIME_DESC"
		return listAt(ctx, s, s.InWorkspace("/task_runs/filter"), query, limit)
	},
	path: foundIn("/task_runs", "task_runs"),
}

func taskRunCommand(version string) *cobra.Command {
	r := taskRunResource
	return remoteCommand(version, &cobra.Command{
		Use: "task-run", Aliases: []string{"task-runs"}, Short: "List, inspect and delete task runs",
		Long: `List, inspect and delete task runs. Commands accept a task run's id, or its name if it is unique.`,
	}, r.listCommand, r.inspectCommand, r.deleteCommand)
}

// allOf returns the condition that a field of a kind of record has all values of a flag, which commas separate.
func allOf(kind, field string) func(context.Context, *remote.Server, map[string]any, string) error {
	return func(_ context.Context, _ *remote.Server, query map[string]any, value string) error {
		addCondition(query, kind, field, "all_", strings.Split(value, ","))
		return nil
	}
}

// nameLike returns the condition that the name contains the value of a flag.
func nameLike(kind string) func(context.Context, *remote.Server, map[string]any, string) error {
	return func(_ context.Context, _ *remote.Server, query map[string]any, value string) error {
		addCondition(query, kind, nameField, "like_", value)
		return nil
	}
}

// byID returns the condition that a record belongs to the one that an id or a name identifies.
func byID(kind, collection string) func(context.Context, *remote.Server, map[string]any, string) error {
	return func(ctx context.Context, s *remote.Server, query map[string]any, value string) error {
		id, err := find(ctx, s, s.InWorkspace(collection), kind, value)
		addCondition(query, kind, "id", "any_", []string{id})
		return err
	}
}

// stateFilter returns the condition that a run's state has one of the types of a flag.
func stateFilter(kind string) func(context.Context, *remote.Server, map[string]any, string) error {
	return func(_ context.Context, _ *remote.Server, query map[string]any, value string) error {
		types, err := parseStateTypes(strings.Split(value, ","))
		addCondition(query, kind, "state.type", "any_", types)
		return err
	}
}

// parseStateTypes returns types of states in upper case, and refuses others.
func parseStateTypes(values []string) ([]string, error) {
	types := upper(values)
	for _, stateType := range types {
		if !slices.Contains(stateTypes, stateType) {
			return nil, fmt.Errorf("%w: unknown state type %q%s; the types are %s", errArgument, stateType, suggestion(stateType, lower(stateTypes)), strings.Join(lower(stateTypes), ", "))
		}
	}
	return types, nil
}
