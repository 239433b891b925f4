package pages

import (
	"net/http"
	"net/url"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// auditPage lists the audit events of the account.
func auditPage() page.Page {
	return page.Page{
		Pattern: "/account/audit",
		Section: accountSection,
		Needs:   []string{orchv1.EventService_ReadAccountEvents_FullMethodName},
		Uses:    []string{orchv1.EventService_ReadAccountEventsPage_FullMethodName},
		Show:    showAudit,
	}
}

func showAudit(r *page.Request) (page.View, error) {
	window, q, token := r.WindowFrom("-30d"), r.Text("q"), r.HTTP.URL.Query().Get(moreToken)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	criteria := apicall.JSON{"occurred": apicall.JSON{"since": window.From, "until": window.To}, "order": "DESC"}
	if q != "" {
		criteria["text"] = apicall.JSON{"query": q}
	}
	list := apicall.New[*orchv1.EventPage](orchv1.EventService_ReadAccountEvents_FullMethodName, inAccount(r, apicall.JSON{"filter": criteria, "limit": maxEventRows}))
	if token != "" {
		in := inAccount(r, nil)
		in.Query = url.Values{"page-token": {token}}
		list = apicall.New[*orchv1.EventPage](orchv1.EventService_ReadAccountEventsPage_FullMethodName, in)
	}
	if err := r.Call(list); err != nil {
		return page.View{}, badPage(token, err)
	}
	v := listView{
		Title: "Audit events", Tabs: accountLinks(r, "audit"), Search: true, Q: q, Path: r.Path(),
		Table: table{Columns: []string{"Occurred", "Event", "What", "Who"}, Empty: "No change of the account in the last 30 days matches."},
	}
	for _, e := range list.Result().GetEvents() {
		v.Table.add(timeCell(r, e.GetOccurred()), text(e.GetEvent()), text(labelName(r, e.GetResource().GetLabels())), text(actorLabel(r, e)))
	}
	if next, err := url.Parse(list.Result().GetNextPage()); err == nil && list.Result().NextPage != nil {
		v.Table.Older = r.Here(moreToken, next.Query().Get("page-token"))
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

// badPage returns the error of a call for a further page: the token of the address is the only input that can be wrong.
func badPage(token string, err error) error {
	if status := rpc.HTTPError(err).GetStatus(); token != "" && status < http.StatusInternalServerError && status != http.StatusForbidden {
		return rpc.Detail(http.StatusBadRequest, "The parameter page of the address must be a position that a link of this page gave.")
	}
	return err
}

// labelName is the name of a resource, or its id without one.
func labelName(r *page.Request, labels map[string]string) string {
	if name := labels[r.Server.Vocabulary.ResourceName()]; name != "" {
		return name
	}
	return labels[r.Server.Vocabulary.ResourceID()]
}

// actorLabel names the actor of an audit event.
func actorLabel(r *page.Request, e *orchv1.ReceivedEvent) string {
	for _, related := range e.GetRelated() {
		if related.GetLabels()[r.Server.Vocabulary.ResourceRole()] == "actor" {
			return show.Line(labelName(r, related.GetLabels()), 80)
		}
	}
	return ""
}
