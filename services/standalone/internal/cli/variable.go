package cli

import "github.com/spf13/cobra"

var variableResource = &resource{
	noun: "variable", plural: "variables", lifecycle: "variable", argument: "VARIABLE",
	columns: append([]column{fieldColumn("NAME", "name"), fieldColumn("VALUE", "value"), fieldColumn("TAGS", "tags")}, identityColumns()...),
	filters: []filter{
		{"tag", "variables with a tag; several are separated by commas, and a variable has all of them", allOf("variables", "tags")},
		{"name", "variables whose name contains a text", nameLike("variables")},
	},
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "value", flag: "value", usage: "the value", kind: jsonField, required: true},
		{name: "tags", flag: "tag", usage: "a tag", kind: listField},
	},
	list: listIn("/variables/filter"), path: foundIn("/variables", "variables"), create: createIn("/variables"),
	fileFields: []string{"name", "value", "tags"},
}

func variableCommand(version string) *cobra.Command {
	r := variableResource
	return remoteCommand(version, &cobra.Command{
		Use: "variable", Aliases: []string{"variables"}, Short: "Manage variables", Long: `Manage variables. Commands accept a variable's id or its name.`,
		Example: `  orch variable create region --value eu-west-1
  orch variable update limits --value '{"rows": 1000}'`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
