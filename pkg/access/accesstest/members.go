// Package accesstest lists the kinds of members of an account. The tests of the REST API and of the dashboard use this one table, so
// both check each role against the same scopes.
package accesstest

import "github.com/orch-project/orch/pkg/access"

// Member is a member of an account by what the roles allow.
type Member struct {
	// Name is that of the role, with "account " before account roles. It is unique.
	Name string
	// AccountRole is the id of the role in the account. WorkspaceRole is the id of the role in the workspace, empty for a member
	// whose account role owns all workspaces.
	AccountRole, WorkspaceRole string
	// Scopes are those of both roles, and those about the own user.
	Scopes access.Set
}

// Members returns a member with each built-in role: Members of the account with a role in the workspace, and those whose account
// role owns all workspaces.
func Members() []Member {
	var members []Member
	owner, _ := access.WorkspaceRole(access.WorkspaceOwner)
	for _, account := range access.AccountRoles() {
		if access.OwnsWorkspaces(account.ID) {
			members = append(members, Member{
				Name: "account " + account.Name, AccountRole: account.ID, Scopes: access.Union(owner.Scopes, access.Union(account.Scopes, access.Self)),
			})
			continue
		}
		for _, role := range access.WorkspaceRoles() {
			members = append(members, Member{
				Name: role.Name, AccountRole: account.ID, WorkspaceRole: role.ID,
				Scopes: access.Union(role.Scopes, access.Union(account.Scopes, access.Self)),
			})
		}
	}
	return members
}
