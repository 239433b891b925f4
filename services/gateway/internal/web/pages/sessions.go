package pages

import (
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// sessionPages are the reader's own signed-in browsers and API keys.
func sessionPages() []page.Page {
	return []page.Page{{
		Pattern: "/sessions",
		Section: "/sessions",
		Uses:    []string{orchv1.UserService_ReadMe_FullMethodName, orchv1.UserService_ReadUserApiKeys_FullMethodName},
		Show:    showSessions,
		Actions: []page.Action{
			{Name: "session-end", Done: "The browser is signed out.", Do: endSession},
			{Name: "key-create", Calls: []string{orchv1.UserService_CreateUserApiKey_FullMethodName}, Do: createKey},
			{Name: "key-delete", Calls: []string{orchv1.UserService_DeleteUserApiKey_FullMethodName}, Done: "The key is deleted.", Do: deleteKey},
		},
	}}
}

// keyLifetimes are the choices for the expiry of a new key, in days.
var keyLifetimes = []choice{
	{Value: "7", Title: "in 7 days"}, {Value: "30", Title: "in 30 days"}, {Value: "90", Title: "in 90 days"}, {Value: "365", Title: "in a year"}, {Title: "never"},
}

// readMe reads the profile of the reader; nil for a service account and for a server without keys, which have no keys of users.
func readMe(r *page.Request) (*orchv1.Profile, error) {
	if r.Server.Credential != "key" {
		return nil, nil //nolint:nilnil // No profile is no error.
	}
	me := apicall.New[*orchv1.Profile](orchv1.UserService_ReadMe_FullMethodName, apicall.Input{})
	if err := r.Call(me); err != nil {
		return nil, err
	}
	if me.Result().GetType() != "user" {
		return nil, nil //nolint:nilnil // No keys of a user is no error.
	}
	return me.Result(), nil
}

// errNoKeys is the response to an action on keys by a reader who has none of their own.
var errNoKeys = rpc.Detail(http.StatusForbidden, "Only users have keys of their own. The account's page Service accounts rotates the key of a service account.")

func showSessions(r *page.Request) (page.View, error) {
	sessions := &table{Columns: []string{"Browser", "Address", "Signed in", "Last used", ""}, Empty: "No browser is signed in."}
	for _, s := range r.Sessions() {
		end := cell{Buttons: []button{{Action: "session-end", Title: "Sign out", Fields: []hiddenField{{"id", s.ID}}}}}
		agent := text(s.Agent)
		if s.Current {
			agent, end = text("this browser: "+s.Agent), cell{}
		}
		sessions.add(agent, text(s.Address), mark(clockOf(r).At(s.Opened)), mark(clockOf(r).At(s.Used)), end)
	}
	v := detailView{Title: "Sessions and keys", Panels: []panel{{Title: "Signed-in browsers", Table: sessions}}}
	me, err := readMe(r)
	if text := page.Problem(err); text != "" {
		v.Problems = []string{text}
	}
	if me != nil {
		v.Pairs = pairs(pair{"User", text(me.GetHandle())}, pair{"E-mail", optionalText(me.Email)})
		showKeys(r, me, &v)
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// showKeys adds the API keys of a user.
func showKeys(r *page.Request, me *orchv1.Profile, v *detailView) {
	keys := apicall.New[*orchv1.ApiKeyList](orchv1.UserService_ReadUserApiKeys_FullMethodName, apicall.Input{Path: map[string]string{"user_id": me.GetId()}})
	_ = r.Call(keys) // The panel says what it misses.
	t := &table{Columns: []string{"Key", "Created", "Expires", ""}, Empty: "No key."}
	for _, k := range keys.Result().GetApiKeys() {
		expires := text("never")
		if k.Expiration != nil {
			expires = timeCell(r, k.GetExpiration())
		}
		remove := cell{}
		if r.May(orchv1.UserService_DeleteUserApiKey_FullMethodName) {
			remove.Buttons = []button{{Action: "key-delete", Title: "Delete", Class: "danger", Fields: []hiddenField{{"id", k.GetId()}, {"name", k.GetName()}}}}
		}
		t.add(text(k.GetName()), timeCell(r, k.GetCreated()), expires, remove)
	}
	v.Panels = append(v.Panels, panel{Title: "API keys", Table: t, Problem: page.Problem(keys.Err())})
	if r.May(orchv1.UserService_CreateUserApiKey_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New API key", Action: "key-create", Button: "Create the key", Text: "The key is shown once.", Fields: []field{
			{Name: "name", Label: "Name", Required: true, Max: 255}, selectField("days", "It expires", "90", keyLifetimes),
		}})
	}
}

func endSession(r *page.Request) (page.View, error) {
	if err := r.EndSession(r.Field("id")); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "session-end", -1), nil
}

func createKey(r *page.Request) (page.View, error) {
	me, err := readMe(r)
	if err != nil {
		return page.View{}, err
	}
	if me == nil {
		return page.View{}, errNoKeys
	}
	body := apicall.JSON{"name": r.Field("name")}
	if days := number(r.Field("days")); days > 0 {
		body["expiration"] = r.Now.AddDate(0, 0, days)
	}
	created := apicall.New[*orchv1.ApiKey](orchv1.UserService_CreateUserApiKey_FullMethodName, apicall.Input{Path: map[string]string{"user_id": me.GetId()}, Body: body})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showSessions, err)
	}
	return showSecret(fmt.Sprintf("The key %q", show.Line(created.Result().GetName(), 80)), "Store this key. It is shown once.", created.Result().GetKey(), r.Path()), nil
}

func deleteKey(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the key " + show.Line(r.Field("name"), 80) + "?", Action: "key-delete", Button: "Delete the key",
			Text: "Programs and browsers that use it are refused from the next request on.", Fields: []hiddenField{{"id", r.Field("id")}},
		}), nil
	}
	me, err := readMe(r)
	if err != nil {
		return page.View{}, err
	}
	if me == nil {
		return page.View{}, errNoKeys
	}
	deletion := apicall.New[empty](orchv1.UserService_DeleteUserApiKey_FullMethodName, apicall.Input{Path: map[string]string{"user_id": me.GetId(), "id": r.Field("id")}})
	if err := r.Call(deletion); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "key-delete", -1), nil
}
