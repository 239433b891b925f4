package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var backfillResource = &resource{
	noun: "backfill", plural: "backfills", argument: "BACKFILL", page: 50,
	columns: append([]column{
		fieldColumn("ID", "id"),
		{head: "DEPLOYMENT", text: func(record map[string]any) string { return plain(record[deploymentField]) }},
		{head: "SCHEDULE", text: scheduleText},
		fieldColumn("FROM", "start_time"), fieldColumn("TO", "end_time"), fieldColumn("STATE", "state"),
		{head: "CREATED", text: func(record map[string]any) string {
			return plain(record["created_runs"]) + "/" + plain(record["total_runs"])
		}},
		fieldColumn("UNFINISHED", "unfinished_runs"), fieldColumn("COMPLETED", "completed_runs"), fieldColumn("FAILED", "failed_runs"),
		fieldColumn("CANCELLED", "cancelled_runs"),
	}, wideColumns(fieldColumn("PARALLEL", "max_parallel_runs"), fieldColumn("PARAMETERS", "parameters"), fieldColumn("MESSAGE", "message"),
		fieldColumn("ENDED", "ended"))...),
	filters: []filter{{"deployment", "the backfills of a deployment, by id, name or FLOW/DEPLOYMENT", func(ctx context.Context, s *remote.Server, query map[string]any, value string) error {
		id, err := deploymentID(ctx, s, value)
		query["deployment_id"] = id
		return err
	}}},
	fields: []field{
		{name: "schedule_id", flag: "schedule", usage: "the schedule, by id or slug; a deployment with one schedule needs none"},
		{name: "start_time", flag: "from", usage: "the first time, such as 2026-01-01T00:00:00Z", required: true},
		{name: "end_time", flag: "to", usage: "the last time, not in the future", required: true},
		{name: "max_parallel_runs", flag: "max-parallel-runs", usage: "the maximum number of unfinished flow runs, 1 to 100", kind: numberField},
		{name: "parameters", flag: "param", usage: "a parameter of the flow runs", kind: objectField},
	},
	list: listIn("/v2/backfills/filter"),
	path: func(_ context.Context, s *remote.Server, argument string) (string, error) {
		id, err := uuid.Parse(argument)
		if err != nil {
			return "", fmt.Errorf("%w: %q is not an id", errArgument, argument)
		}
		return s.InWorkspace("/v2/backfills/" + id.String()), nil
	},
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		id, err := deploymentID(ctx, s, argument)
		if err != nil {
			return nil, fmt.Errorf("find the deployment: %w", err)
		}
		body["deployment_id"] = id
		if schedule, given := body["schedule_id"]; given {
			at, err := schedulePath(ctx, s, fmt.Sprintf("%s/%s", id, schedule))
			if err != nil {
				return nil, err
			}
			body["schedule_id"] = path.Base(at)
		}
		return s.Call(ctx, http.MethodPost, s.InWorkspace("/v2/backfills/"), body)
	},
	names: scheduleNames,
	key:   func(record map[string]any) string { return plain(record["id"]) },
}

// backfillStateCommand returns a command that changes the state of a backfill.
func backfillStateCommand(verb, short string) func(*connection) *cobra.Command {
	return func(c *connection) *cobra.Command {
		r := backfillResource
		return &cobra.Command{
			Use: verb + " " + r.argument, Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				s, at, err := r.locate(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				answer, err := s.Call(cmd.Context(), http.MethodPost, at+"/"+verb, nil)
				if err != nil {
					return fmt.Errorf("%s the backfill: %w", verb, err)
				}
				return r.showOne(c, cmd, s, answer)
			},
		}
	}
}

func backfillCommand(version string) *cobra.Command {
	r := backfillResource
	create := func(c *connection) *cobra.Command {
		cmd := r.createCommand(c)
		cmd.Use, cmd.Short = "create DEPLOYMENT", "Create the flow runs of a schedule for a range of the past"
		return cmd
	}
	return remoteCommand(version, &cobra.Command{
		Use: "backfill", Aliases: []string{"backfills"}, Short: "Manage backfills: flow runs for a range of the past of a schedule",
		Long: `Manage backfills: flow runs for a range of the past of a schedule, oldest first, a few at a time.`,
		Example: `  orch backfill create load-orders/nightly --from 2026-01-01T00:00:00Z --to 2026-03-31T23:59:59Z --max-parallel-runs 4
  orch backfill ls --deployment load-orders/nightly`,
	}, r.listCommand, r.inspectCommand, create,
		backfillStateCommand("pause", "Create no further flow runs; the unfinished ones go on"),
		backfillStateCommand("resume", "Go on with a paused backfill"),
		backfillStateCommand("cancel", "Create no further flow runs, and cancel the unfinished ones"),
		r.deleteCommand)
}
