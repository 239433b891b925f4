package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var artifactResource = &resource{
	noun: "artifact", plural: "artifacts", argument: "ARTIFACT", page: 20,
	columns: append([]column{
		fieldColumn("ID", "id"), fieldColumn("KEY", "key"), fieldColumn("TYPE", "type"), fieldColumn("CREATED", "created"), fieldColumn("DESCRIPTION", "description"),
	}, wideColumns(fieldColumn("FLOW RUN", "flow_run_id"), fieldColumn("TASK RUN", "task_run_id"), fieldColumn("UPDATED", "updated"))...),
	filters: []filter{
		{"key", "artifacts with a key; several are separated by commas", anyOf("artifacts", "key")},
		{"type", "artifacts of a type, such as markdown; several are separated by commas", anyOf("artifacts", "type")},
		{"flow-run", "artifacts of a flow run, by id or name", byID("flow_runs", "/flow_runs")},
		{"flow", "artifacts of a flow, by id or name", byID("flows", "/flows")},
	},
	fields: []field{
		{name: "type", flag: "type", usage: "its type, such as markdown, table, progress or link", on: createOnly},
		{name: "data", flag: "data", usage: "the data", kind: jsonField},
		{name: "description", flag: "description", usage: "the description"},
	},
	list: func(ctx context.Context, s *remote.Server, query map[string]any, limit int) ([]json.RawMessage, error) {
		query["sort"] = "CREATED_DESC"
		return listAt(ctx, s, s.InWorkspace("/artifacts/filter"), query, limit)
	},
	path: func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		if id, err := uuid.Parse(argument); err == nil {
			return s.InWorkspace("/artifacts/" + id.String()), nil
		}
		id, err := idAt(ctx, s, "/artifacts/"+url.PathEscape(argument)+"/latest")
		return s.InWorkspace("/artifacts/" + id), err
	},
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		body["key"] = argument
		return s.Call(ctx, http.MethodPost, s.InWorkspace("/artifacts/"), body)
	},
	key:        func(record map[string]any) string { return plain(record["key"]) },
	fileFields: []string{"key", "type", "data", "description"},
	fileNote: `

The file describes the latest version of each key. Artifacts of runs, and those without a key, are not in it.`,
	latest: func(ctx context.Context, s *remote.Server) ([]json.RawMessage, error) {
		return listAll(ctx, s, s.InWorkspace("/artifacts/latest/filter"), map[string]any{})
	},
	owned: func(record map[string]any) bool {
		return plain(record["key"]) == "" || record["flow_run_id"] != nil || record["task_run_id"] != nil
	},
}

func artifactCommand(version string) *cobra.Command {
	r := artifactResource
	return remoteCommand(version, &cobra.Command{
		Use: "artifact", Aliases: []string{"artifacts"}, Short: "Manage artifacts",
		Long: `Manage artifacts. Commands accept an artifact's id, or its key for the latest version.`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
