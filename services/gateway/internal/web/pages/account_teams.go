package pages

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// teamPages are the list of an account's teams and the page of one.
func teamPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/account/teams", Section: accountSection,
			Needs: []string{orchv1.TeamService_ReadTeams_FullMethodName}, Show: showTeams,
			Actions: []page.Action{{Name: "team-create", Calls: []string{orchv1.TeamService_CreateTeam_FullMethodName}, Do: createTeam, Done: "The team is created."}},
		},
		{
			Pattern: "/account/teams/team/{id}", Section: accountSection,
			Needs: []string{orchv1.TeamService_ReadTeam_FullMethodName}, Uses: actorCalls, Show: showTeam,
			Actions: []page.Action{
				{Name: "team-edit", Calls: []string{orchv1.TeamService_UpdateTeam_FullMethodName}, Done: "The team is changed.", Do: editTeam},
				{Name: "team-add", Calls: []string{orchv1.TeamService_AddTeamMembers_FullMethodName}, Done: "The member is added.", Do: addToTeam},
				{Name: "team-remove", Calls: []string{orchv1.TeamService_RemoveTeamMember_FullMethodName}, Done: "The member is removed.", Do: removeFromTeam},
				{Name: "team-delete", Calls: []string{orchv1.TeamService_DeleteTeam_FullMethodName}, Done: "The team is deleted.", Do: deleteTeam},
			},
		},
	}
}

// teamFields are the fields of a team.
func teamFields(t *orchv1.Team) []field {
	return []field{
		{Name: "name", Label: "Name", Value: t.GetName(), Required: true, Max: 255},
		{Name: "description", Label: "Description", Value: t.GetDescription(), Max: 1024},
	}
}

func teamBody(r *page.Request) apicall.JSON {
	return apicall.JSON{"name": r.Field("name"), "description": r.Field("description")}
}

func showTeams(r *page.Request) (page.View, error) {
	teams := apicall.New[*orchv1.TeamList](orchv1.TeamService_ReadTeams_FullMethodName, inAccount(r, apicall.JSON{}))
	if err := r.Call(teams); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Teams", Tabs: accountLinks(r, "teams"), Table: table{
		Columns: []string{"Team", "Description", "Members", "Created"}, Empty: "No team. Members of a team have its roles besides their own.",
	}}
	for _, t := range teams.Result().GetTeams() {
		v.Table.add(link(r.To("account", "teams", "team", t.GetId()), t.GetName()), text(t.GetDescription()), count(int64(len(t.GetMemberships()))), timeCell(r, t.GetCreated()))
	}
	if r.May(orchv1.TeamService_CreateTeam_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New team", Action: "team-create", Button: "Create the team", Fields: teamFields(nil)})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func createTeam(r *page.Request) (page.View, error) {
	created := apicall.New[*orchv1.Team](orchv1.TeamService_CreateTeam_FullMethodName, inAccount(r, teamBody(r)))
	if err := r.Call(created); err != nil {
		return refusedForm(r, showTeams, err)
	}
	return r.Done(r.To("account", "teams", "team", created.Result().GetId()), "team-create", -1), nil
}

func showTeam(r *page.Request) (page.View, error) {
	team := apicall.New[*orchv1.Team](orchv1.TeamService_ReadTeam_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))
	if err := r.Call(team); err != nil {
		return page.View{}, err
	}
	t, actors := team.Result(), readActors(r, false)
	v := detailView{
		Kind: "Team", Title: show.Line(t.GetName(), 80), ID: show.ID(t.GetId()), Tabs: accountLinks(r, "teams"),
		Pairs: pairs(pair{"Description", text(t.GetDescription())}, pair{"Created", timeCell(r, t.GetCreated())}),
	}
	members := &table{Columns: []string{"Member", "Kind", ""}, Empty: "No member yet."}
	for _, m := range t.GetMemberships() {
		remove := cell{}
		if r.May(orchv1.TeamService_RemoveTeamMember_FullMethodName) {
			remove.Buttons = []button{{Action: "team-remove", Title: "Remove", Fields: []hiddenField{{"actor_id", m.GetId()}}}}
		}
		members.add(text(actors.name(m.GetMemberId())), text(enumWord(m.GetType())), remove)
	}
	v.Panels = append(v.Panels, panel{Title: "Members", Table: members})
	if r.May(orchv1.TeamService_AddTeamMembers_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New member", Action: "team-add", Button: "Add the member", Fields: []field{actors.field()}})
	}
	if r.May(orchv1.TeamService_UpdateTeam_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "team-edit", Button: "Save the team", Fields: teamFields(t)})
	}
	if r.May(orchv1.TeamService_DeleteTeam_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "team-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editTeam(r *page.Request) (page.View, error) {
	if err := r.Call(apicall.New[*orchv1.Team](orchv1.TeamService_UpdateTeam_FullMethodName, inAccount(r, teamBody(r), "id", r.Vars["id"]))); err != nil {
		return refusedForm(r, showTeam, err)
	}
	return r.Done(r.Path(), "team-edit", -1), nil
}

func addToTeam(r *page.Request) (page.View, error) {
	kind, id := chosenActor(r)
	body := apicall.JSON{"members": []apicall.JSON{{"member_id": id, "member_type": kind}}}
	if err := r.Call(apicall.New[*orchv1.Team](orchv1.TeamService_AddTeamMembers_FullMethodName, inAccount(r, body, "id", r.Vars["id"]))); err != nil {
		return refusedForm(r, showTeam, err)
	}
	return r.Done(r.Path(), "team-add", -1), nil
}

func removeFromTeam(r *page.Request) (page.View, error) {
	in := inAccount(r, nil, "id", r.Vars["id"], "actor_id", r.Field("actor_id"))
	if err := r.Call(apicall.New[empty](orchv1.TeamService_RemoveTeamMember_FullMethodName, in)); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "team-remove", -1), nil
}

func deleteTeam(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the team?", Action: "team-delete", Button: "Delete the team", Text: "Its members lose the roles of the team.",
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.TeamService_DeleteTeam_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("account", "teams"), "team-delete", -1), nil
}
