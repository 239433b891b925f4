package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// allowlistPage shows and changes the addresses that may use the account.
func allowlistPage() page.Page {
	return page.Page{
		Pattern: "/account/addresses",
		Section: accountSection,
		Needs:   []string{orchv1.AccountService_ReadIpAllowlist_FullMethodName, orchv1.AccountService_CheckIpAllowlistAccess_FullMethodName},
		Show:    showAllowlist,
		Actions: []page.Action{{
			Name: "addresses-save", Calls: []string{orchv1.AccountService_UpdateIpAllowlist_FullMethodName}, Done: "The list is saved.", Do: saveAllowlist,
		}},
	}
}

func showAllowlist(r *page.Request) (page.View, error) {
	list := apicall.New[*orchv1.IpAllowlist](orchv1.AccountService_ReadIpAllowlist_FullMethodName, inAccount(r, nil))
	own := apicall.New[*orchv1.IpAllowlistAccess](orchv1.AccountService_CheckIpAllowlistAccess_FullMethodName, inAccount(r, nil))
	if err := r.Call(list, own); err != nil {
		return page.View{}, err
	}
	v := listView{
		Title: "Allowed addresses", Tabs: accountLinks(r, "addresses"), Intro: own.Result().GetDetail(),
		Table: table{Columns: []string{"Network", "Enabled", "Description"}, Empty: "The list is empty."},
	}
	var networks []string
	for _, e := range list.Result().GetEntries() {
		v.Table.add(text(e.GetIpNetwork()), yes(e.GetEnabled(), "yes", "no"), text(e.GetDescription()))
		networks = append(networks, allowlistLine(e))
	}
	if r.May(orchv1.AccountService_UpdateIpAllowlist_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "Change the list", Action: "addresses-save", Button: "Save the list", Text: "The settings of the account enforce the list.",
			Fields: []field{{
				Name: "entries", Label: "Addresses and networks, one a line", Kind: "textarea", Value: strings.Join(networks, "\n"),
				Hint: "A description follows the address after a blank. A line that begins with # is disabled.",
			}},
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

// allowlistLine is an entry as a line of the form.
func allowlistLine(e *orchv1.IpAllowlistEntry) string {
	line := strings.TrimSpace(e.GetIpNetwork() + " " + strings.ReplaceAll(e.GetDescription(), "\n", " "))
	if !e.GetEnabled() {
		line = "#" + line
	}
	return line
}

// allowlistEntry reads a line of the form.
func allowlistEntry(line string) apicall.JSON {
	line, disabled := strings.CutPrefix(strings.TrimSpace(line), "#")
	network, description, _ := strings.Cut(strings.TrimSpace(line), " ")
	entry := apicall.JSON{"ip_network": network, "enabled": !disabled}
	if description = strings.TrimSpace(description); description != "" {
		entry["description"] = description
	}
	return entry
}

func saveAllowlist(r *page.Request) (page.View, error) {
	entries := []apicall.JSON{}
	for _, line := range lines(newlines(r.Form.Get("entries"))) {
		entries = append(entries, allowlistEntry(line))
	}
	if err := r.Call(apicall.New[empty](orchv1.AccountService_UpdateIpAllowlist_FullMethodName, inAccount(r, apicall.JSON{"entries": entries}))); err != nil {
		return refusedForm(r, showAllowlist, err)
	}
	return r.Done(r.Path(), "addresses-save", -1), nil
}
