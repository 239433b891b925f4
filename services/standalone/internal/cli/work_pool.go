package cli

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

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
	create: createIn("/work_pools"), next: workerLine,
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

// workerLine is the command that starts a worker of a work pool; empty on a server that refuses Prefect's clients. The settings of the
// server name the vocabulary. A caller who may not read them gets the command.
func workerLine(ctx context.Context, s *remote.Server, pool string) string {
	settings, err := remote.Read[struct {
		Vocabulary string `json:"ORCH_VOCABULARY"`
	}](ctx, s, http.MethodGet, "/admin/settings", nil)
	if err == nil && settings.Vocabulary == vocabulary.Orch.String() {
		return ""
	}
	return "Start a worker:\n" + clientCommands(s).Worker(pool)
}

// clientCommands words the commands of Prefect's client for a server and its workspace.
func clientCommands(s *remote.Server) quickstart.Server {
	commands := quickstart.Server{API: s.API, Credential: s.Credential()}
	commands.Account, _ = uuid.Parse(s.Account) // Without ids the server's default workspace serves.
	commands.Workspace, _ = uuid.Parse(s.Workspace)
	return commands
}
