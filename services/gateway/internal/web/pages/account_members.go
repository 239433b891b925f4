package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// memberPages are the list of an account's members and the page of one.
func memberPages() []page.Page {
	needs := []string{orchv1.UserService_ReadAccountMemberships_FullMethodName, orchv1.RoleService_ReadAccountRoles_FullMethodName}
	return []page.Page{
		{
			Pattern: "/account/members", Section: accountSection, Needs: needs, Show: showMembers,
			Actions: []page.Action{{Name: "member-create", Calls: []string{orchv1.UserService_CreateAccountMembership_FullMethodName}, Do: createMember}},
		},
		{
			Pattern: "/account/members/member/{id}", Section: accountSection, Needs: needs, Show: showMember,
			Actions: []page.Action{
				{Name: "member-role", Calls: []string{orchv1.UserService_UpdateAccountMembership_FullMethodName}, Done: "The role is changed.", Do: changeMember},
				{Name: "member-remove", Calls: []string{orchv1.UserService_DeleteAccountMembership_FullMethodName}, Done: "The member is removed.", Do: removeMember},
			},
		},
	}
}

// accountRoles reads the roles of the account as choices.
func accountRoles(r *page.Request) *apicall.Unary[*orchv1.AccountRoleList] {
	return apicall.New[*orchv1.AccountRoleList](orchv1.RoleService_ReadAccountRoles_FullMethodName, inAccount(r, apicall.JSON{}))
}

func accountRoleChoices(roles []*orchv1.AccountRole) []choice {
	var all []choice
	for _, role := range roles {
		all = append(all, choice{Value: role.GetId(), Title: show.Line(role.GetName(), 60)})
	}
	return all
}

// memberRole is the id of the built-in role that new members get by default.
func memberRole(roles []*orchv1.AccountRole) string {
	for _, role := range roles {
		if role.GetIsSystemRole() && role.GetName() == "Member" {
			return role.GetId()
		}
	}
	return ""
}

func readMembers(r *page.Request) *apicall.Unary[*orchv1.AccountMembershipList] {
	return apicall.New[*orchv1.AccountMembershipList](orchv1.UserService_ReadAccountMemberships_FullMethodName, inAccount(r, apicall.JSON{}))
}

// memberName is the name of a member, or the handle without one.
func memberName(m *orchv1.AccountMembership) string {
	if name := strings.TrimSpace(m.GetFirstName() + " " + m.GetLastName()); name != "" {
		return name
	}
	return m.GetHandle()
}

func showMembers(r *page.Request) (page.View, error) {
	members, roles := readMembers(r), accountRoles(r)
	if err := r.Call(members, roles); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Members", Tabs: accountLinks(r, "members"), Table: table{
		Columns: []string{"Member", "Handle", "E-mail", "Role", "Since"}, Empty: "No member.",
	}}
	for _, m := range members.Result().GetMemberships() {
		v.Table.add(link(r.To("account", "members", "member", m.GetId()), memberName(m)), text(m.GetHandle()), text(m.GetEmail()), text(m.GetAccountRoleName()), timeCell(r, m.GetCreated()))
	}
	if r.May(orchv1.UserService_CreateAccountMembership_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "New member", Action: "member-create", Button: "Add the member", Text: "The server creates the user, and shows their first API key once.",
			Fields: []field{
				{Name: "email", Label: "E-mail address", Kind: "email", Required: true, Max: 320},
				{Name: "handle", Label: "Handle", Max: 255, Hint: "Empty takes it from the address."},
				{Name: "first_name", Label: "First name", Max: 255},
				{Name: "last_name", Label: "Last name", Max: 255},
				selectField("account_role_id", "Role in the account", memberRole(roles.Result().GetRoles()), accountRoleChoices(roles.Result().GetRoles())),
			},
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func createMember(r *page.Request) (page.View, error) {
	body := apicall.JSON{"email": r.Field("email"), "first_name": r.Field("first_name"), "last_name": r.Field("last_name")}
	for _, name := range []string{"handle", "account_role_id"} {
		if value := r.Field(name); value != "" {
			body[name] = value
		}
	}
	created := apicall.New[*orchv1.AccountMembership](orchv1.UserService_CreateAccountMembership_FullMethodName, inAccount(r, body))
	if err := r.Call(created); err != nil {
		return refusedForm(r, showMembers, err)
	}
	m := created.Result()
	if m.GetApiKey().GetKey() == "" {
		return page.View{Redirect: r.To("account", "members", "member", m.GetId())}, nil
	}
	return showSecret("The first key of "+show.Line(memberName(m), 80), "Hand this key to the new member. It is shown once.", m.GetApiKey().GetKey(),
		r.To("account", "members", "member", m.GetId())), nil
}

// readMember finds the member of the page.
func readMember(r *page.Request) (*orchv1.AccountMembership, []*orchv1.AccountRole, error) {
	members, roles := readMembers(r), accountRoles(r)
	if err := r.Call(members, roles); err != nil {
		return nil, nil, err
	}
	for _, m := range members.Result().GetMemberships() {
		if m.GetId() == r.Vars["id"] {
			return m, roles.Result().GetRoles(), nil
		}
	}
	return nil, nil, &page.NotFound{What: "member"}
}

func showMember(r *page.Request) (page.View, error) {
	m, roles, err := readMember(r)
	if err != nil {
		return page.View{}, err
	}
	v := detailView{
		Kind: "Member", Title: show.Line(memberName(m), 80), ID: show.ID(m.GetUserId()), Tabs: accountLinks(r, "members"),
		Pairs: pairs(
			pair{"Handle", text(m.GetHandle())}, pair{"E-mail", text(m.GetEmail())}, pair{"Role", text(m.GetAccountRoleName())},
			pair{"Member since", timeCell(r, m.GetCreated())}, pair{"Last sign-in", timeCell(r, m.GetLastLogin())},
		),
	}
	if r.May(orchv1.UserService_UpdateAccountMembership_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Role in the account", Action: "member-role", Button: "Change the role", Fields: []field{
			selectField("account_role_id", "Role", m.GetAccountRoleId(), accountRoleChoices(roles)),
		}})
	}
	if r.May(orchv1.UserService_DeleteAccountMembership_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "member-remove", Title: "Remove", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func changeMember(r *page.Request) (page.View, error) {
	change := apicall.New[empty](orchv1.UserService_UpdateAccountMembership_FullMethodName,
		inAccount(r, apicall.JSON{"account_role_id": r.Field("account_role_id")}, "id", r.Vars["id"]))
	if err := r.Call(change); err != nil {
		return refusedForm(r, showMember, err)
	}
	return r.Done(r.Path(), "member-role", -1), nil
}

func removeMember(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		m, _, err := readMember(r)
		if err != nil {
			return page.View{}, err
		}
		return confirm(r, confirmView{
			Title: "Remove " + show.Line(memberName(m), 80) + " from the account?", Action: "member-remove", Button: "Remove the member",
			Text: "Their keys no longer open this account. A user without another account is deleted.",
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.UserService_DeleteAccountMembership_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("account", "members"), "member-remove", -1), nil
}
