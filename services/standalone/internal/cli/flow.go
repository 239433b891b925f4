package cli

import "github.com/spf13/cobra"

var flowResource = &resource{
	noun: "flow", plural: "flows", argument: "FLOW",
	columns: append([]column{fieldColumn("NAME", "name"), fieldColumn("TAGS", "tags")}, identityColumns()...),
	filters: []filter{
		{"tag", "flows with a tag; several are separated by commas, and a flow has all of them", allOf("flows", "tags")},
		{"name", "flows whose name contains a text", nameLike("flows")},
	},
	fields: []field{{name: "tags", flag: "tag", usage: "a tag", kind: listField}},
	list:   listIn("/flows/filter"), path: foundIn("/flows", "flows"), create: createIn("/flows"),
	warning: "with its deployments and runs", fileFields: []string{"name", "tags"},
}

func flowCommand(version string) *cobra.Command {
	r := flowResource
	return remoteCommand(version, &cobra.Command{
		Use: "flow", Aliases: []string{"flows"}, Short: "Manage flows", Long: `Manage flows. Commands accept a flow's id or its name.`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
