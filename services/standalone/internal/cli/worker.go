package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var workerResource = &resource{
	noun: "worker", plural: "workers", argument: "WORK-POOL/WORKER",
	columns: append([]column{
		fieldColumn("WORK POOL", poolField), fieldColumn("NAME", "name"), fieldColumn("STATUS", "status"), fieldColumn("LAST HEARTBEAT", "last_heartbeat_time"),
	}, wideColumns(fieldColumn("INTERVAL", "heartbeat_interval_seconds"), fieldColumn("ID", "id"), fieldColumn("CREATED", "created"))...),
	filters: []filter{{"work-pool", "the workers of a work pool", addPool}},
	list: func(ctx context.Context, s *remote.Server, query map[string]any, _ int) ([]json.RawMessage, error) {
		pools := []string{}
		if pool, ok := query[poolField].(string); ok {
			pools = append(pools, pool)
		} else {
			all, err := listAll(ctx, s, s.InWorkspace("/work_pools/filter"), map[string]any{})
			if err != nil {
				return nil, err
			}
			for _, text := range all {
				pool, err := remote.Decode[record](text)
				if err != nil {
					return nil, err
				}
				pools = append(pools, pool.Name)
			}
		}
		var workers []json.RawMessage
		for _, pool := range pools {
			found, err := list(ctx, s, s.InWorkspace("/work_pools/"+url.PathEscape(pool)+"/workers/filter"))
			if err != nil {
				return nil, err
			}
			for _, text := range found {
				worker, err := decodeRecord(text)
				if err != nil {
					return nil, err
				}
				worker[poolField] = pool
				if text, err = json.Marshal(worker); err != nil {
					return nil, fmt.Errorf("read worker: %w", err)
				}
				workers = append(workers, text)
			}
		}
		return workers, nil
	},
	path: func(_ context.Context, s *remote.Server, argument string) (string, error) {
		pool, worker, err := inPool(argument, "WORKER")
		return s.InWorkspace("/work_pools/" + url.PathEscape(pool) + "/workers/" + url.PathEscape(worker)), err
	},
	read: readFromList(http.MethodPost, "/filter", nameField),
	key:  func(record map[string]any) string { return plain(record[poolField]) + "/" + plain(record[nameField]) },
}

func workerCommand(version string) *cobra.Command {
	r := workerResource
	return remoteCommand(version, &cobra.Command{
		Use: "worker", Aliases: []string{"workers"}, Short: "List, inspect and delete workers",
		Long: `List, inspect and delete workers. Commands accept WORK-POOL/WORKER. A worker that still runs appears again with its next heartbeat.`,
	}, r.listCommand, r.inspectCommand, r.deleteCommand)
}
