package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// flowField is the field of a deployment in a file with the name of its flow.
const flowField = "flow"

var deploymentResource = &resource{
	noun: "deployment", plural: "deployments", argument: "DEPLOYMENT", activity: "paused", inactive: true,
	columns: append([]column{
		fieldColumn("ID", "id"),
		{head: "FLOW", text: func(record map[string]any) string { return cmp.Or(plain(record[flowField]), plain(record["flow_id"])) }},
		fieldColumn("NAME", "name"),
		{head: "SCHEDULE", text: deploymentSchedules},
		fieldColumn("WORK POOL", poolField), fieldColumn("NEXT RUN", "next_run"),
		fieldColumn("PAUSED", "paused"), fieldColumn("STATUS", "status"), fieldColumn("TAGS", "tags"),
	}, wideColumns(fieldColumn("WORK QUEUE", "work_queue_name"), fieldColumn("LIMIT", "concurrency_limit"), fieldColumn("ENTRYPOINT", "entrypoint"),
		fieldColumn("VERSION", "version"), fieldColumn("CREATED", "created"), fieldColumn("UPDATED", "updated"))...),
	filters: []filter{
		{"flow", "the deployments of a flow, by id or name", byID("flows", "/flows")},
		{"work-pool", "the deployments of a work pool, by id or name", byID("work_pools", "/work_pools")},
		{"tag", "deployments with a tag; several are separated by commas, and a deployment has all of them", allOf("deployments", "tags")},
	},
	fields: []field{
		{name: "description", flag: "description", usage: "the description"},
		{name: "version", flag: "version-name", usage: "the version of the code"},
		{name: "tags", flag: "tag", usage: "a tag", kind: listField},
		{name: "work_pool_name", flag: "work-pool", usage: "the work pool that executes the flow runs"},
		{name: "work_queue_name", flag: "work-queue", usage: "the queue of the work pool"},
		{name: "entrypoint", flag: "entrypoint", usage: "the file and the function of the flow, such as flows/orders.py:load"},
		{name: "path", flag: "path", usage: "the directory of the code"},
		{name: "parameters", flag: "param", usage: "the default of a parameter", kind: objectField},
		{name: "job_variables", flag: "job-variable", usage: "a variable of the job template", kind: objectField},
		{name: "concurrency_limit", flag: "concurrency-limit", usage: "the maximum number of flow runs at a time", kind: numberField},
		{name: "concurrency_options.collision_strategy", flag: "collision-strategy", usage: "what happens to flow runs above the limit: ENQUEUE or CANCEL_NEW"},
		{name: "parameter_openapi_schema", flag: "parameter-schema", usage: "the JSON schema of the parameters", kind: fileField},
		{name: "enforce_parameter_schema", flag: "enforce-parameter-schema", usage: "refuse parameters that the schema does not allow", kind: switchField},
		{name: "paused", flag: "paused", usage: "create it disabled", kind: switchField, on: createOnly},
	},
	list: listIn("/deployments/filter"),
	path: func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		id, err := deploymentID(ctx, s, argument)
		return s.InWorkspace("/deployments/" + id), err
	},
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		flow, name, both := strings.Cut(argument, "/")
		if !both || flow == "" || name == "" {
			return nil, fmt.Errorf("%w: %q is not of the form FLOW/DEPLOYMENT", errArgument, argument)
		}
		// The API returns the flow of a name, and creates one if there is none.
		made, err := remote.Read[record](ctx, s, http.MethodPost, s.InWorkspace("/flows/"), map[string]any{nameField: flow})
		if err != nil {
			return nil, fmt.Errorf("find the flow: %w", err)
		}
		body["flow_id"], body[nameField] = made.ID, name
		return s.Call(ctx, http.MethodPost, s.InWorkspace("/deployments/"), body)
	},
	names: deploymentNames, facts: deploymentNextRuns,
	key: func(record map[string]any) string {
		return cmp.Or(plain(record[flowField]), plain(record["flow_id"])) + "/" + plain(record[nameField])
	},
	warning: "with its schedules; its flow runs stay",
	fileFields: []string{
		flowField, "name", "description", "version", "tags", "paused", "work_pool_name", "work_queue_name", "entrypoint", "path", "parameters", "job_variables",
		"concurrency_limit", "concurrency_options", "schedules", "enforce_parameter_schema", "parameter_openapi_schema", "pull_steps",
	}, identityFields: 2,
}

// deploymentNames adds the names of flows, the concurrency limits, and the schedules without what the server adds to them.
func deploymentNames(ctx context.Context, s *remote.Server, records []map[string]any) error {
	ids := make([]string, len(records))
	for i, record := range records {
		ids[i] = plain(record["flow_id"])
	}
	flows, err := namesByID(ctx, s, s.InWorkspace("/flows"), "flows", ids)
	if err != nil {
		return err
	}
	for _, record := range records {
		record[flowField] = flows[plain(record["flow_id"])]
		if limit := at(record, "global_concurrency_limit.limit"); limit != nil {
			record["concurrency_limit"] = limit
		}
		schedules, _ := record["schedules"].([]any)
		for i, one := range schedules {
			fields, _ := one.(map[string]any)
			kept := map[string]any{}
			for _, name := range []string{"schedule", "active", "max_scheduled_runs", "parameters", "slug"} {
				if value := fields[name]; !isEmpty(name, value) {
					kept[name] = value
				}
			}
			schedules[i] = kept
		}
	}
	return nil
}

// deploymentNextRuns adds the times of the next runs.
func deploymentNextRuns(ctx context.Context, s *remote.Server, records []map[string]any) error {
	ids := make([]string, len(records))
	for i, record := range records {
		ids[i] = plain(record["id"])
	}
	next, err := nextRuns(ctx, s, ids)
	if err != nil {
		return err
	}
	for _, record := range records {
		record["next_run"] = next[plain(record["id"])]
	}
	return nil
}

// deploymentSchedules describes the schedules of a deployment.
func deploymentSchedules(record map[string]any) string {
	list, _ := record["schedules"].([]any)
	texts := make([]string, len(list))
	for i, one := range list {
		fields, _ := one.(map[string]any)
		texts[i] = scheduleText(fields)
	}
	return strings.Join(texts, "; ")
}

func deploymentCommand(version string) *cobra.Command {
	r := deploymentResource
	return remoteCommand(version, &cobra.Command{
		Use: "deployment", Aliases: []string{"deployments"}, Short: "Manage deployments, and run them",
		Long: `Manage deployments, and run them. Commands accept a deployment's id, its name if it is unique, or FLOW/DEPLOYMENT.`,
		Example: `  orch deployment create load-orders/nightly --entrypoint flows/orders.py:load --work-pool local
  orch deployment update load-orders/nightly --concurrency-limit 2 --collision-strategy ENQUEUE`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.enableCommand, r.disableCommand, r.applyCommand, r.exportCommand, r.deleteCommand,
		deploymentRunCommand)
}
