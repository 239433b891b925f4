package access

import (
	"sync"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Role is a built-in role. Its id is the same in every installation.
type Role struct {
	ID, Name string
	// Description is empty for account roles.
	Description string
	Scopes      Set
}

// The ids of the built-in roles.
const (
	AccountOwner  = "00000000-0000-8000-8000-0000000000a1"
	AccountAdmin  = "00000000-0000-8000-8000-0000000000a2"
	AccountMember = "00000000-0000-8000-8000-0000000000a3"

	WorkspaceOwner     = "00000000-0000-8000-8000-0000000000b1"
	WorkspaceDeveloper = "00000000-0000-8000-8000-0000000000b2"
	WorkspaceRunner    = "00000000-0000-8000-8000-0000000000b3"
	WorkspaceViewer    = "00000000-0000-8000-8000-0000000000b4"
	WorkspaceWorker    = "00000000-0000-8000-8000-0000000000b5"
)

// AccountRoles are the account roles, the most powerful first. Owners and administrators also own all workspaces.
var AccountRoles = sync.OnceValue(func() []Role {
	const realm = orchv1.Realm_REALM_ACCOUNT
	return []Role{
		{ID: AccountOwner, Name: "Owner", Scopes: Scopes(realm)},
		{ID: AccountAdmin, Name: "Admin", Scopes: where(realm, func(scope string) bool { return scope != "manage_account" })},
		{ID: AccountMember, Name: "Member", Scopes: NewSet("see_account")},
	}
})

// WorkspaceRoles are the built-in workspace roles, the most powerful first.
var WorkspaceRoles = sync.OnceValue(func() []Role {
	const realm = orchv1.Realm_REALM_UNSPECIFIED
	governs := NewSet("manage_workspace_access", "manage_server")
	return []Role{
		{ID: WorkspaceOwner, Name: "Owner", Description: "May do everything in the workspace.", Scopes: Scopes(realm)},
		{
			ID: WorkspaceDeveloper, Name: "Developer", Description: "May do everything but decide who else may.",
			Scopes: where(realm, func(scope string) bool { return !governs[scope] }),
		},
		{
			ID: WorkspaceRunner, Name: "Runner", Description: "May see everything and run what there is.",
			Scopes: where(realm, func(scope string) bool {
				return verb(scope) == "see" || verb(scope) == "run" || scope == "manage_flow_runs"
			}),
		},
		{
			ID: WorkspaceViewer, Name: "Viewer", Description: "May see everything.",
			Scopes: where(realm, func(scope string) bool { return verb(scope) == "see" }),
		},
		{
			ID: WorkspaceWorker, Name: "Worker", Description: "May do what executing runs takes.",
			Scopes: where(realm, func(scope string) bool { return ofWorkers[scope] || verb(scope) == "see" && !governing[scope] }),
		},
	}
})

// ofWorkers are the scopes that workers need beside reading.
var ofWorkers = NewSet("run_deployments", "manage_flow_runs", "manage_task_runs", "take_concurrency_slots",
	"write_artifacts", "write_variables", "write_logs", "read_block_secrets", "write_workers", "manage_events", "manage_flows")

// governing are the resources that service accounts need not read.
var governing = NewSet("see_workspace_access", "see_webhooks", "see_automations")

// AccountRole returns an account role by its id.
func AccountRole(id string) (Role, bool) { return find(AccountRoles(), id) }

// WorkspaceRole returns a built-in workspace role by its id.
func WorkspaceRole(id string) (Role, bool) { return find(WorkspaceRoles(), id) }

func find(roles []Role, id string) (Role, bool) {
	for _, role := range roles {
		if role.ID == id {
			return role, true
		}
	}
	return Role{}, false
}

// OwnsWorkspaces reports whether an account role owns all workspaces of its account.
func OwnsWorkspaces(accountRole string) bool {
	return accountRole == AccountOwner || accountRole == AccountAdmin
}
