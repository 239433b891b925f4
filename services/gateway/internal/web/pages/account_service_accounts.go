package pages

import (
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// serviceAccountPages are the list of an account's service accounts and the page of one.
func serviceAccountPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/account/service-accounts", Section: accountSection,
			Needs: []string{orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName}, Show: showServiceAccounts,
			Actions: []page.Action{{
				Name: "service-account-create", Calls: []string{orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName}, Do: createServiceAccount,
			}},
		},
		{
			Pattern: "/account/service-accounts/service-account/{id}", Section: accountSection,
			Needs: []string{orchv1.ServiceAccountService_ReadServiceAccount_FullMethodName}, Show: showServiceAccount,
			Actions: []page.Action{
				{Name: "service-account-rotate", Calls: []string{orchv1.ServiceAccountService_RotateServiceAccountApiKey_FullMethodName}, Do: rotateServiceAccount},
				{
					Name: "service-account-delete", Calls: []string{orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName},
					Done: "The service account is deleted.", Do: deleteServiceAccount,
				},
			},
		},
	}
}

func showServiceAccounts(r *page.Request) (page.View, error) {
	skip := r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	accounts := apicall.New[*orchv1.ServiceAccountList](orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName,
		inAccount(r, apicall.JSON{"limit": param50 + 1, "offset": skip}))
	if err := r.Call(accounts); err != nil {
		return page.View{}, err
	}
	list, more := cut(accounts.Result().GetServiceAccounts(), param50)
	v := listView{
		Title: "Service accounts", Tabs: accountLinks(r, "service-accounts"), Intro: "A service account is the actor of a program. Roles in workspaces are on the page Access.",
		Table: table{Columns: []string{"Service account", "Role", "Newest key", "Key expires", "Created"}, Empty: "No service account."},
	}
	for _, a := range list {
		v.Table.add(link(r.To("account", "service-accounts", "service-account", a.GetId()), a.GetName()), text(a.GetAccountRoleName()),
			timeCell(r, a.GetApiKey().GetCreated()), timeCell(r, a.GetApiKey().GetExpiration()), timeCell(r, a.GetCreated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "New service account", Action: "service-account-create", Button: "Create the service account", Text: "Its API key is shown once.",
			Fields: []field{{Name: "name", Label: "Name", Required: true, Max: 255}},
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func createServiceAccount(r *page.Request) (page.View, error) {
	created := apicall.New[*orchv1.ServiceAccount](orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName, inAccount(r, apicall.JSON{"name": r.Field("name")}))
	if err := r.Call(created); err != nil {
		return refusedForm(r, showServiceAccounts, err)
	}
	return showServiceKey(r, created.Result()), nil
}

func showServiceKey(r *page.Request, a *orchv1.ServiceAccount) page.View {
	return showSecret("The key of "+show.Line(a.GetName(), 80), "Store this key where the program reads it. It is shown once.", a.GetApiKey().GetKey(),
		r.To("account", "service-accounts", "service-account", a.GetId()))
}

func readServiceAccount(r *page.Request) *apicall.Unary[*orchv1.ServiceAccount] {
	return apicall.New[*orchv1.ServiceAccount](orchv1.ServiceAccountService_ReadServiceAccount_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))
}

func showServiceAccount(r *page.Request) (page.View, error) {
	account := readServiceAccount(r)
	if err := r.Call(account); err != nil {
		return page.View{}, err
	}
	a := account.Result()
	v := detailView{
		Kind: "Service account", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()), Tabs: accountLinks(r, "service-accounts"),
		Pairs: pairs(
			pair{"Role in the account", text(a.GetAccountRoleName())}, pair{"Newest key", timeCell(r, a.GetApiKey().GetCreated())},
			pair{"Key expires", timeCell(r, a.GetApiKey().GetExpiration())}, pair{"Created", timeCell(r, a.GetCreated())},
		),
	}
	if r.May(orchv1.ServiceAccountService_RotateServiceAccountApiKey_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "New key", Action: "service-account-rotate", Button: "Rotate the key", Text: "The new key is shown once.",
			Fields: []field{selectField("overlap", "The old key", "86400", []choice{
				{Value: "0", Title: "stops at once"},
				{Value: "3600", Title: "stays valid for 1 hour"},
				{Value: "86400", Title: "stays valid for 24 hours"},
				{Value: "172800", Title: "stays valid for 48 hours"},
			})},
		})
	}
	if r.May(orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "service-account-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func rotateServiceAccount(r *page.Request) (page.View, error) {
	overlap, _ := strconv.Atoi(r.Field("overlap")) // Anything else means at once.
	rotated := apicall.New[*orchv1.ServiceAccount](orchv1.ServiceAccountService_RotateServiceAccountApiKey_FullMethodName,
		inAccount(r, apicall.JSON{"old_key_expires_in_seconds": overlap}, "id", r.Vars["id"]))
	if err := r.Call(rotated); err != nil {
		return refusedForm(r, showServiceAccount, err)
	}
	return showServiceKey(r, rotated.Result()), nil
}

func deleteServiceAccount(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		account := readServiceAccount(r)
		if err := r.Call(account); err != nil {
			return page.View{}, err
		}
		return confirm(r, confirmView{
			Title: "Delete the service account " + show.Line(account.Result().GetName(), 80) + "?", Action: "service-account-delete", Button: "Delete",
			Text: "Its keys stop working, and webhooks that require them are deleted.",
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName, inAccount(r, nil, "id", r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("account", "service-accounts"), "service-account-delete", -1), nil
}
