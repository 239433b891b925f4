package pages

import (
	"slices"
	"strconv"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// accountSection is the entry of the navigation for the pages of an account.
const accountSection = "/account"

// accountTabs are the pages of an account. A reader sees the tabs whose rpcs their role allows.
var accountTabs = []struct{ title, path, rpc string }{
	{"Account", "", orchv1.AccountService_ReadAccount_FullMethodName},
	{"Access", "access", orchv1.WorkspaceAccessService_ReadWorkspaceAccesses_FullMethodName},
	{"Members", "members", orchv1.UserService_ReadAccountMemberships_FullMethodName},
	{"Service accounts", "service-accounts", orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName},
	{"Teams", "teams", orchv1.TeamService_ReadTeams_FullMethodName},
	{"Roles", "roles", orchv1.RoleService_ReadWorkspaceRoles_FullMethodName},
	{"Addresses", "addresses", orchv1.AccountService_ReadIpAllowlist_FullMethodName},
	{"Audit", "audit", orchv1.EventService_ReadAccountEvents_FullMethodName},
}

// accountPages are the pages of the account that owns the workspace.
func accountPages() []page.Page {
	return slices.Concat(
		[]page.Page{accountPage(), accessPage(), allowlistPage(), auditPage()},
		memberPages(), serviceAccountPages(), teamPages(), rolePages(),
	)
}

// accountLinks returns the tabs, with the one of a path marked.
func accountLinks(r *page.Request, current string) []tab {
	var tabs []tab
	for _, t := range accountTabs {
		if !r.May(t.rpc) {
			continue
		}
		segments := []string{"account"}
		if t.path != "" {
			segments = append(segments, t.path)
		}
		tabs = append(tabs, tab{Title: t.title, Path: r.To(segments...), Current: t.path == current})
	}
	return tabs
}

// inAccount is the input of an operation of the reader's account. The variables are names and values.
func inAccount(r *page.Request, body any, variables ...string) apicall.Input {
	in := apicall.Input{Path: map[string]string{"account_id": r.Account}, Body: body}
	for i := 0; i+1 < len(variables); i += 2 {
		in.Path[variables[i]] = variables[i+1]
	}
	return in
}

func accountPage() page.Page {
	return page.Page{
		Pattern: "/account",
		Section: accountSection,
		Needs:   []string{orchv1.AccountService_ReadAccount_FullMethodName, orchv1.AccountService_ReadAccountQuotas_FullMethodName, orchv1.WorkspaceService_ReadWorkspaces_FullMethodName},
		Show:    showAccount,
		Actions: []page.Action{
			{
				Name: "account-edit", Calls: []string{orchv1.AccountService_UpdateAccount_FullMethodName, orchv1.AccountService_UpdateAccountSettings_FullMethodName},
				Done: "The account is changed.", Do: editAccount,
			},
			{
				Name: "workspace-create", Calls: []string{orchv1.WorkspaceService_CreateWorkspace_FullMethodName},
				Done: "The workspace is created.", Do: createWorkspace,
			},
			{
				Name: "workspace-delete", Calls: []string{orchv1.WorkspaceService_DeleteWorkspace_FullMethodName},
				Done: "The workspace is deleted.", Do: deleteWorkspace,
			},
		},
	}
}

func showAccount(r *page.Request) (page.View, error) {
	account := apicall.New[*orchv1.Account](orchv1.AccountService_ReadAccount_FullMethodName, inAccount(r, nil))
	workspaces := apicall.New[*orchv1.WorkspaceList](orchv1.WorkspaceService_ReadWorkspaces_FullMethodName, inAccount(r, apicall.JSON{}))
	quotas := apicall.New[*orchv1.AccountQuotaList](orchv1.AccountService_ReadAccountQuotas_FullMethodName, inAccount(r, nil))
	if err := r.Call(account, workspaces, quotas); err != nil {
		return page.View{}, err
	}
	a := account.Result()
	settings := a.GetSettings()
	rate := rateFieldsOf(settings.GetWebhookRateLimit())
	v := detailView{
		Kind: "Account", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()), Tabs: accountLinks(r, ""),
		Pairs: pairs(
			pair{"Handle", text(a.GetHandle())},
			pair{"Webhooks", yes(settings.GetEnforceWebhookAuthentication(), "each needs a service account", "need no service account")},
			pair{"Rate limit of all webhooks", text(rateText(settings.GetWebhookRateLimit()))},
			pair{"Addresses", yes(settings.GetEnforceIpAllowlist(), "only those of the list", "all")},
			pair{"Created", timeCell(r, a.GetCreated())},
		),
	}
	t := &table{Columns: []string{"Workspace", "Handle", "Description", "Created", ""}}
	for _, w := range workspaces.Result().GetWorkspaces() {
		to := r.Prefix + "/account/" + w.GetAccountId() + "/workspace/" + w.GetId() + "/"
		buttons := cell{}
		if r.May(orchv1.WorkspaceService_DeleteWorkspace_FullMethodName) && w.GetId() != r.Workspace {
			buttons.Buttons = []button{{Action: "workspace-delete", Title: "Delete", Class: "danger", Fields: []hiddenField{{"id", w.GetId()}, {"name", w.GetName()}}}}
		}
		t.add(link(to, w.GetName()), text(w.GetHandle()), text(w.GetDescription()), timeCell(r, w.GetCreated()), buttons)
	}
	v.Panels = append(v.Panels, panel{Title: "Workspaces", Table: t}, quotaPanel(quotas.Result().GetQuotas()))
	if r.May(orchv1.WorkspaceService_CreateWorkspace_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New workspace", Action: "workspace-create", Button: "Create the workspace", Fields: []field{
			{Name: "name", Label: "Name", Required: true, Max: 255}, {Name: "description", Label: "Description", Max: 1024},
		}})
	}
	if r.May(orchv1.AccountService_UpdateAccount_FullMethodName, orchv1.AccountService_UpdateAccountSettings_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "account-edit", Button: "Save the settings", Fields: []field{
			{Name: "name", Label: "Name of the account", Value: a.GetName(), Required: true, Max: 255},
			{Name: "handle", Label: "Handle, for addresses", Value: a.GetHandle(), Required: true, Max: 100},
			{
				Name: "enforce_webhook_authentication", Label: "Enabled webhooks need a service account", Kind: "checkbox", Checked: settings.GetEnforceWebhookAuthentication(),
				Hint: "The server disables webhooks without one.",
			},
			{
				Name: "enforce_ip_allowlist", Label: "Only allowed addresses may use the account", Kind: "checkbox", Checked: settings.GetEnforceIpAllowlist(),
				Hint: "The list must contain your own address.",
			},
			{Name: "requests", Label: "Rate limit of all webhooks together, requests", Value: rate.Requests, Hint: "Empty means none."},
			{Name: "seconds", Label: "in seconds", Value: rate.Seconds, Hint: "Empty means 60."},
			{Name: "burst", Label: "at once", Value: rate.Burst, Hint: "Empty means as many as the rate has requests."},
		}})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// quotaPanel shows the quotas of an account with their use.
func quotaPanel(quotas []*orchv1.AccountQuota) panel {
	t := &table{Columns: []string{"Quota", "Limit", "Used"}}
	for _, q := range quotas {
		limit, used := "no limit", ""
		if q.Limit != nil {
			limit = strconv.FormatInt(q.GetLimit(), 10)
		}
		if q.Used != nil {
			used = strconv.FormatInt(q.GetUsed(), 10)
		}
		t.add(text(strings.ReplaceAll(q.GetName(), "_", " ")), text(limit), text(used))
	}
	return panel{Title: "Quotas", Table: t}
}

func editAccount(r *page.Request) (page.View, error) {
	rate, err := postedRate(r).body()
	if err != nil {
		return refusedForm(r, showAccount, err)
	}
	account := apicall.New[empty](orchv1.AccountService_UpdateAccount_FullMethodName, inAccount(r, apicall.JSON{"name": r.Field("name"), "handle": r.Field("handle")}))
	settings := apicall.New[empty](orchv1.AccountService_UpdateAccountSettings_FullMethodName, inAccount(r, apicall.JSON{
		"enforce_webhook_authentication": r.Field("enforce_webhook_authentication") != "",
		"enforce_ip_allowlist":           r.Field("enforce_ip_allowlist") != "",
		"webhook_rate_limit":             rate,
	}))
	for _, change := range []apicall.Call{account, settings} { // A refused name changes no setting.
		if err := r.Call(change); err != nil {
			return refusedForm(r, showAccount, err)
		}
	}
	return r.Done(r.Path(), "account-edit", -1), nil
}

func createWorkspace(r *page.Request) (page.View, error) {
	body := apicall.JSON{"name": r.Field("name")}
	if description := r.Field("description"); description != "" {
		body["description"] = description
	}
	if err := r.Call(apicall.New[*orchv1.Workspace](orchv1.WorkspaceService_CreateWorkspace_FullMethodName, inAccount(r, body))); err != nil {
		return refusedForm(r, showAccount, err)
	}
	return r.Done(r.Path(), "workspace-create", -1), nil
}

func deleteWorkspace(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the workspace " + show.Line(r.Field("name"), 80) + "?", Action: "workspace-delete", Button: "Delete the workspace",
			Text: "Its flows, runs, webhooks, events and everything else in it are deleted.", Fields: []hiddenField{{"id", r.Field("id")}},
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.WorkspaceService_DeleteWorkspace_FullMethodName, inAccount(r, nil, "id", r.Field("id")))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "workspace-delete", -1), nil
}
