package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// rolePages are the list of the roles in workspaces and the page of one.
func rolePages() []page.Page {
	return []page.Page{
		{
			Pattern: "/account/roles", Section: accountSection,
			Needs: []string{orchv1.RoleService_ReadWorkspaceRoles_FullMethodName}, Uses: []string{orchv1.RoleService_ReadWorkspaceScopes_FullMethodName}, Show: showRoles,
			Actions: []page.Action{{Name: "role-create", Calls: []string{orchv1.RoleService_CreateWorkspaceRole_FullMethodName}, Done: "The role is created.", Do: createRole}},
		},
		{
			Pattern: "/account/roles/role/{id}", Section: accountSection,
			Needs: []string{orchv1.RoleService_ReadWorkspaceRole_FullMethodName, orchv1.RoleService_ReadWorkspaceRoles_FullMethodName},
			Uses:  []string{orchv1.RoleService_ReadWorkspaceScopes_FullMethodName}, Show: showRole,
			Actions: []page.Action{
				{Name: "role-edit", Calls: []string{orchv1.RoleService_UpdateWorkspaceRole_FullMethodName}, Done: "The role is changed.", Do: editRole},
				{Name: "role-delete", Calls: []string{orchv1.RoleService_DeleteWorkspaceRole_FullMethodName}, Done: "The role is deleted.", Do: deleteRole},
			},
		},
	}
}

// workspaceRoles reads the roles that the account has for workspaces.
func workspaceRoles(r *page.Request) *apicall.Unary[*orchv1.WorkspaceRoleList] {
	return apicall.New[*orchv1.WorkspaceRoleList](orchv1.RoleService_ReadWorkspaceRoles_FullMethodName, inAccount(r, apicall.JSON{}))
}

func workspaceScopes() *apicall.Unary[*orchv1.WorkspaceScopeList] {
	return apicall.New[*orchv1.WorkspaceScopeList](orchv1.RoleService_ReadWorkspaceScopes_FullMethodName, apicall.Input{})
}

func workspaceRoleChoices(roles []*orchv1.WorkspaceRole) []choice {
	var all []choice
	for _, role := range roles {
		all = append(all, choice{Value: role.GetId(), Title: show.Line(role.GetName(), 60)})
	}
	return all
}

// roleFields are the fields of a role. The choices of inherited roles are the predefined ones.
func roleFields(role *orchv1.WorkspaceRole, roles []*orchv1.WorkspaceRole, scopes []string) []field {
	inherited := []choice{{Title: "none"}}
	for _, r := range roles {
		if r.AccountId == nil {
			inherited = append(inherited, choice{Value: r.GetId(), Title: show.Line(r.GetName(), 60)})
		}
	}
	return []field{
		{Name: "name", Label: "Name", Value: role.GetName(), Required: true, Max: 255},
		{Name: "description", Label: "Description", Value: role.GetDescription(), Max: 1024},
		selectField("inherited_role_id", "Includes the role", role.GetInheritedRoleId(), inherited),
		{
			Name: "scopes", Label: "Further scopes, one a line", Kind: "textarea", Value: strings.Join(role.GetScopes(), "\n"),
			Hint: "Scopes: " + strings.Join(scopes, ", "),
		},
	}
}

func roleBody(r *page.Request) apicall.JSON {
	body := apicall.JSON{"name": r.Field("name"), "description": r.Field("description"), "scopes": lines(newlines(r.Field("scopes")))}
	if inherited := r.Field("inherited_role_id"); inherited != "" {
		body["inherited_role_id"] = inherited
	}
	return body
}

func showRoles(r *page.Request) (page.View, error) {
	roles, scopes := workspaceRoles(r), workspaceScopes()
	_ = r.Call(roles, scopes) // Without the scopes, the form names none.
	if err := roles.Err(); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Roles in workspaces", Tabs: accountLinks(r, "roles"), Table: table{Columns: []string{"Role", "Description", "Kind", "Scopes"}}}
	for _, role := range roles.Result().GetRoles() {
		v.Table.add(link(r.To("account", "roles", "role", role.GetId()), role.GetName()), text(role.GetDescription()),
			yes(role.AccountId == nil, "predefined", "of the account"), count(int64(len(role.GetScopes()))))
	}
	if r.May(orchv1.RoleService_CreateWorkspaceRole_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "New role", Action: "role-create", Button: "Create the role",
			Fields: roleFields(nil, roles.Result().GetRoles(), scopes.Result().GetScopes()),
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func createRole(r *page.Request) (page.View, error) {
	created := apicall.New[*orchv1.WorkspaceRole](orchv1.RoleService_CreateWorkspaceRole_FullMethodName, inAccount(r, roleBody(r)))
	if err := r.Call(created); err != nil {
		return refusedForm(r, showRoles, err)
	}
	return r.Done(r.To("account", "roles", "role", created.Result().GetId()), "role-create", -1), nil
}

func showRole(r *page.Request) (page.View, error) {
	role := apicall.New[*orchv1.WorkspaceRole](orchv1.RoleService_ReadWorkspaceRole_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))
	roles, scopes := workspaceRoles(r), workspaceScopes()
	_ = r.Call(role, roles, scopes) // Without the scopes, the form names none.
	if err := role.Err(); err != nil {
		return page.View{}, err
	}
	a := role.Result()
	inherited := ""
	for _, other := range roles.Result().GetRoles() {
		if other.GetId() == a.GetInheritedRoleId() {
			inherited = other.GetName()
		}
	}
	v := detailView{
		Kind: "Role in workspaces", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()), Tabs: accountLinks(r, "roles"),
		Pairs: pairs(
			pair{"Description", text(a.GetDescription())}, pair{"Kind", yes(a.AccountId == nil, "predefined", "of the account")},
			pair{"Includes", text(inherited)}, pair{"Scopes", cell{Text: strings.Join(a.GetScopes(), ", ")}},
		),
	}
	if a.AccountId != nil && r.May(orchv1.RoleService_UpdateWorkspaceRole_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "role-edit", Button: "Save the role", Fields: roleFields(a, roles.Result().GetRoles(), scopes.Result().GetScopes())})
	}
	if a.AccountId != nil && r.May(orchv1.RoleService_DeleteWorkspaceRole_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "role-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editRole(r *page.Request) (page.View, error) {
	if err := r.Call(apicall.New[empty](orchv1.RoleService_UpdateWorkspaceRole_FullMethodName, inAccount(r, roleBody(r), "id", r.Vars["id"]))); err != nil {
		return refusedForm(r, showRole, err)
	}
	return r.Done(r.Path(), "role-edit", -1), nil
}

func deleteRole(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the role?", Action: "role-delete", Button: "Delete the role", Text: "Whoever has only this role in a workspace may do nothing there.",
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.RoleService_DeleteWorkspaceRole_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("account", "roles"), "role-delete", -1), nil
}
