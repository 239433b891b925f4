package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

var limitResource = &resource{
	noun: "limit", plural: "concurrency_limits", argument: "LIMIT", activity: "active",
	columns: append([]column{
		fieldColumn("NAME", "name"), fieldColumn("SLOTS", "active_slots"), fieldColumn("LIMIT", "limit"), fieldColumn("ACTIVE", "active"),
		fieldColumn("DECAY PER SECOND", "slot_decay_per_second"),
	}, identityColumns()...),
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "limit", flag: "limit", usage: "the number of slots", kind: numberField, required: true},
		{name: "slot_decay_per_second", flag: "slot-decay-per-second", usage: "the number of slots that become free each second; 0 keeps them until they are released", kind: numberField},
		{name: "active_slots", flag: "active-slots", usage: "the number of slots that count as taken", kind: numberField, on: updateOnly},
	},
	list: listIn("/v2/concurrency_limits/filter"), path: namedIn("limit", "/v2/concurrency_limits", inWorkspace("/v2/concurrency_limits")),
	create:     createIn("/v2/concurrency_limits"),
	owned:      func(record map[string]any) bool { return strings.HasPrefix(plain(record[nameField]), "deployment:") },
	fileFields: []string{"name", "limit", "active", "slot_decay_per_second"},
}

func limitCommand(version string) *cobra.Command {
	r := limitResource
	return remoteCommand(version, &cobra.Command{
		Use: "limit", Aliases: []string{"limits", "concurrency-limit", "concurrency-limits"}, Short: "Manage concurrency limits",
		Long: `Manage concurrency limits. Commands accept a limit's id or its name; the limit of a tag is named tag:TAG.`,
		Example: `  orch limit create database --limit 3
  orch limit create tag:heavy --limit 1`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.enableCommand, r.disableCommand, r.applyCommand, r.exportCommand, r.deleteCommand, limitSlotsCommand)
}
