package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var roleResource = &resource{
	noun: "role", plural: "roles", argument: "ROLE",
	columns: append([]column{
		fieldColumn("NAME", "name"), fieldColumn("DESCRIPTION", "description"), fieldColumn("SCOPES", "scopes"),
	}, identityColumns()...),
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "description", flag: "description", usage: "the purpose of the role"},
		{name: "scopes", flag: "scope", usage: "a scope that the role grants, such as see_flows", kind: listField},
		{name: "inherited_role_id", flag: "inherit", usage: "a role whose scopes it has too, by name or id"},
	},
	list: listInAccount("/workspace_roles/filter"), path: foundInAccount("/workspace_roles", "workspace_roles"),
	create: createInAccount("/workspace_roles", nameField),
	request: func(ctx context.Context, s *remote.Server, body map[string]any) error {
		return roleID(ctx, s, body, "inherited_role_id", "workspace_roles")
	},
	whole:      []string{"name", "description", "scopes", "inherited_role_id"},
	fileFields: []string{"name", "description", "scopes", "inherited_role_id"},
	fileNote:   "\n\nA role is inherited by its name. The roles of the server are not in the file.",
	owned:      func(record map[string]any) bool { return record["account_id"] == nil },
	names: func(ctx context.Context, s *remote.Server, records []map[string]any) error {
		return roleNames(ctx, s, records, "inherited_role_id", "workspace_roles")
	},
}

func roleCommand(version string) *cobra.Command {
	r := roleResource
	return remoteCommand(version, &cobra.Command{
		Use: "role", Aliases: []string{"roles"}, Short: "Manage the roles that members have in workspaces",
		Long:    `Manage the roles that members have in workspaces. Commands accept a role's id or its name. The roles of the server cannot be changed.`,
		Example: `  orch role create Auditor --scope see_flows --scope see_deployments`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
