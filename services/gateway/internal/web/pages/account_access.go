package pages

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// accessRPCs are the rpcs that grant and revoke the access of a kind of actor. Field names the actor in a grant, and variable names
// what a revocation removes.
var accessRPCs = map[actorKind]struct{ grant, revoke, field, variable string }{
	userActor: {
		orchv1.WorkspaceAccessService_GrantUserAccess_FullMethodName, orchv1.WorkspaceAccessService_RevokeUserAccess_FullMethodName, "user_id", "id",
	},
	serviceActor: {
		orchv1.WorkspaceAccessService_GrantBotAccess_FullMethodName, orchv1.WorkspaceAccessService_RevokeBotAccess_FullMethodName, "bot_id", "id",
	},
	teamActor: {
		orchv1.WorkspaceAccessService_GrantTeamAccess_FullMethodName, orchv1.WorkspaceAccessService_RevokeTeamAccess_FullMethodName, "team_id", "team_id",
	},
}

// accessPage shows who has which role in the workspace.
func accessPage() page.Page {
	var grants, revocations []string
	for _, kind := range []actorKind{userActor, serviceActor, teamActor} {
		grants, revocations = append(grants, accessRPCs[kind].grant), append(revocations, accessRPCs[kind].revoke)
	}
	return page.Page{
		Pattern: "/account/access",
		Section: accountSection,
		Needs:   []string{orchv1.WorkspaceAccessService_ReadWorkspaceAccesses_FullMethodName},
		Uses:    append([]string{orchv1.RoleService_ReadWorkspaceRoles_FullMethodName}, actorCalls...),
		Show:    showAccess,
		Actions: []page.Action{
			{Name: "access-grant", Calls: grants, Done: "The role is granted.", Do: grantAccess},
			{Name: "access-revoke", Calls: revocations, Done: "The access is revoked.", Do: revokeAccess},
		},
	}
}

// actorOf returns the kind and id of the actor of an access entry.
func actorOf(a *orchv1.WorkspaceAccess) (actorKind, string) {
	switch {
	case a.TeamId != nil:
		return teamActor, a.GetTeamId()
	case a.BotId != nil:
		return serviceActor, a.GetBotId()
	}
	return userActor, a.GetUserId()
}

func showAccess(r *page.Request) (page.View, error) {
	skip := r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	list := apicall.New[*orchv1.WorkspaceAccessList](orchv1.WorkspaceAccessService_ReadWorkspaceAccesses_FullMethodName,
		apicall.Input{Body: apicall.JSON{"limit": param50 + 1, "offset": skip}})
	roles := workspaceRoles(r)
	_ = r.Call(list, roles) // Without the roles the page shows their ids.
	if err := list.Err(); err != nil {
		return page.View{}, err
	}
	actors := readActors(r, true)
	roleNames := map[string]string{}
	for _, role := range roles.Result().GetRoles() {
		roleNames[role.GetId()] = show.Line(role.GetName(), 60)
	}
	v := listView{
		Title: "Access to this workspace", Tabs: accountLinks(r, "access"), Intro: "Owners and Admins of the account own all its workspaces, without an entry here.",
		Table: table{Columns: []string{"Who", "Kind", "Role", "Since", ""}, Empty: "Nobody has a role in this workspace."},
	}
	accesses, more := cut(list.Result().GetAccesses(), param50)
	for _, a := range accesses {
		kind, id := actorOf(a)
		role := roleNames[a.GetWorkspaceRoleId()]
		if role == "" {
			role = a.GetWorkspaceRoleId()
		}
		revoke := cell{}
		if r.May(accessRPCs[kind].revoke) {
			entry := a.GetId()
			if kind == teamActor {
				entry = id
			}
			revoke.Buttons = []button{{Action: "access-revoke", Title: "Revoke", Fields: []hiddenField{{"kind", string(kind)}, {"id", entry}, {"name", actors.name(id)}}}}
		}
		v.Table.add(text(actors.name(id)), text(string(kind)), text(role), timeCell(r, a.GetCreated()), revoke)
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(accessRPCs[userActor].grant) && len(actors.choices) > 0 {
		v.Forms = append(v.Forms, form{
			Title: "Grant a role", Action: "access-grant", Button: "Grant the role", Text: "It replaces the role that the actor has in this workspace.",
			Fields: []field{actors.field(), selectField("workspace_role_id", "Role", "", workspaceRoleChoices(roles.Result().GetRoles()))},
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func grantAccess(r *page.Request) (page.View, error) {
	kind, id := chosenActor(r)
	to, ok := accessRPCs[kind]
	if !ok {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "The form names no actor.")
	}
	grant := apicall.New[*orchv1.WorkspaceAccessList](to.grant, apicall.Input{Body: apicall.JSON{"workspace_role_id": r.Field("workspace_role_id"), to.field: id}})
	if err := r.Call(grant); err != nil {
		return refusedForm(r, showAccess, err)
	}
	return r.Done(r.Path(), "access-grant", -1), nil
}

func revokeAccess(r *page.Request) (page.View, error) {
	to, ok := accessRPCs[actorKind(r.Field("kind"))]
	if !ok {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "The form names no actor.")
	}
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Revoke the access of " + show.Line(r.Field("name"), 80) + "?", Action: "access-revoke", Button: "Revoke the access",
			Text:   "The next request is refused. Roles through teams and in the account stay.",
			Fields: []hiddenField{{"kind", r.Field("kind")}, {"id", r.Field("id")}},
		}), nil
	}
	if err := r.Call(apicall.New[empty](to.revoke, apicall.Input{Path: map[string]string{to.variable: r.Field("id")}})); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "access-revoke", -1), nil
}
