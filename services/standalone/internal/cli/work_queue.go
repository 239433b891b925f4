package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// poolField is the field of records of a work pool with the pool's name.
const poolField = "work_pool_name"

var workQueueResource = &resource{
	noun: "work-queue", plural: "work_queues", argument: "WORK-POOL/QUEUE", activity: "is_paused", inactive: true,
	columns: append([]column{
		fieldColumn("WORK POOL", poolField), fieldColumn("NAME", "name"), fieldColumn("STATUS", "status"), fieldColumn("PRIORITY", "priority"),
		fieldColumn("SLOTS", "active_slots"), fieldColumn("LIMIT", "concurrency_limit"), fieldColumn("LAST POLL", "last_polled"),
	}, identityColumns()...),
	filters: []filter{{"work-pool", "the work queues of a work pool", addPool}},
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "description", flag: "description", usage: "the purpose of the work queue"},
		{name: "priority", flag: "priority", usage: "its priority in the work pool; 1 comes first", kind: numberField},
		{name: "concurrency_limit", flag: "concurrency-limit", usage: "the maximum number of flow runs at a time", kind: numberField},
		{name: "is_paused", flag: "paused", usage: "create it paused", kind: switchField, on: createOnly},
	},
	list: func(ctx context.Context, s *remote.Server, query map[string]any, _ int) ([]json.RawMessage, error) {
		if pool, ok := query[poolField].(string); ok {
			return list(ctx, s, s.InWorkspace("/work_pools/"+url.PathEscape(pool)+"/queues/filter"))
		}
		return list(ctx, s, s.InWorkspace("/work_queues/filter"))
	},
	path: func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		pool, queue, err := inPool(argument, "QUEUE")
		if err != nil {
			return "", err
		}
		return namedIn("work queue of "+pool, "/work_pools/"+url.PathEscape(pool)+"/queues", inWorkspace("/work_pools/"+url.PathEscape(pool)+"/queues"))(ctx, s, queue)
	},
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		pool, queue, err := inPool(argument, "QUEUE")
		if err != nil {
			return nil, err
		}
		body[nameField] = queue
		return s.Call(ctx, http.MethodPost, s.InWorkspace("/work_pools/"+url.PathEscape(pool)+"/queues"), body)
	},
	key:        func(record map[string]any) string { return plain(record[poolField]) + "/" + plain(record[nameField]) },
	fileFields: []string{poolField, "name", "description", "is_paused", "concurrency_limit", "priority"}, identityFields: 2,
}

// addPool writes the name of a work pool into a query of a list that has the pool in its path.
func addPool(_ context.Context, _ *remote.Server, query map[string]any, value string) error {
	query[poolField] = value
	return nil
}

// inPool separates WORK-POOL/NAME.
func inPool(argument, what string) (pool, name string, err error) {
	pool, name, both := strings.Cut(argument, "/")
	if !both || pool == "" || name == "" {
		return "", "", fmt.Errorf("%w: %q is not of the form WORK-POOL/%s", errArgument, argument, what)
	}
	return pool, name, nil
}

func workQueueCommand(version string) *cobra.Command {
	r := workQueueResource
	return remoteCommand(version, &cobra.Command{
		Use: "work-queue", Aliases: []string{"work-queues"}, Short: "Manage the queues of work pools",
		Long:    `Manage the queues of work pools. Commands accept WORK-POOL/QUEUE.`,
		Example: `  orch work-queue create local/urgent --priority 1`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.enableCommand, r.disableCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
