package cli

import "github.com/spf13/cobra"

var workPoolResource = &resource{
	noun: "work-pool", plural: "work_pools", argument: "WORK-POOL", activity: "is_paused", inactive: true,
	columns: append([]column{
		fieldColumn("NAME", "name"), fieldColumn("TYPE", "type"), fieldColumn("STATUS", "status"), fieldColumn("SLOTS", "active_slots"),
		fieldColumn("LIMIT", "concurrency_limit"), fieldColumn("DESCRIPTION", "description"),
	}, identityColumns()...),
	filters: []filter{{"type", "work pools of a type; several are separated by commas", anyOf("work_pools", "type")}},
	fields: []field{
		{name: "type", flag: "type", usage: "the type of its workers, such as process, docker or kubernetes", required: true, on: createOnly},
		{name: "description", flag: "description", usage: "the purpose of the work pool"},
		{name: "concurrency_limit", flag: "concurrency-limit", usage: "the maximum number of flow runs at a time", kind: numberField},
		{name: "is_paused", flag: "paused", usage: "create it paused", kind: switchField, on: createOnly},
		{name: "base_job_template", flag: "base-job-template", usage: "the job template", kind: fileField},
	},
	list: listIn("/work_pools/filter"), path: namedIn("work pool", "/work_pools", inWorkspace("/work_pools")),
	create:  createIn("/work_pools"),
	warning: "with its queues and workers", fileFields: []string{"name", "type", "description", "is_paused", "concurrency_limit", "base_job_template"},
}

func workPoolCommand(version string) *cobra.Command {
	r := workPoolResource
	return remoteCommand(version, &cobra.Command{
		Use: "work-pool", Aliases: []string{"work-pools"}, Short: "Manage work pools", Long: `Manage work pools. Commands accept a work pool's name.`,
		Example: `  orch work-pool create local --type process --concurrency-limit 4
  orch work-pool disable local`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.enableCommand, r.disableCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
