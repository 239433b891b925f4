package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/flosch/pongo2/v6"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// explanation is the data of the error page.
type explanation struct {
	Status          int
	Title, Text     string
	RequestID       string
	Back, BackTitle string
	Retry           string
}

// explain responds with an error page that keeps the navigation. Clients that are no browsers get the error as JSON.
func (s *Site) explain(w http.ResponseWriter, r *page.Request, v pageVisit, p *page.Page, err error) {
	e := httpError(err)
	status := int(e.GetStatus())
	if status == http.StatusInternalServerError {
		s.opts.Log.ErrorContext(r.HTTP.Context(), "failed to show a page", "request_id", requestlog.RequestID(w), "error", err)
	}
	if !browser(r.HTTP) {
		transcode.WriteError(w, e)
		return
	}
	x := explanation{Status: status, RequestID: requestlog.RequestID(w), Back: r.Base + "/", BackTitle: "Home"}
	x.Title, x.Text = describe(e)
	if missing, ok := errors.AsType[*page.NotFound](err); ok {
		x.Title = "No such " + missing.What
	} else if p != nil && status == http.StatusNotFound { // The page exists, but not its subject.
		x.Title, x.Text = "Not found", "It was deleted, or it belongs to another workspace."
	}
	if p != nil && p.Section != "" && p.Section != "/" {
		x.Back = r.Base + p.Section
		x.BackTitle = "Back to " + strings.ReplaceAll(strings.Trim(p.Section, "/"), "-", " ")
	}
	if status >= http.StatusInternalServerError && r.HTTP.Method != http.MethodPost {
		x.Retry = r.Here()
	}
	f := s.frame(r, v, p)
	f.Title, f.Complete = x.Title, r.Complete()
	for name, value := range e.GetHeaders() {
		w.Header().Set(name, value)
	}
	s.render(w, r.HTTP, status, "pages/error.html", pongo2.Context{"site": f, "v": x})
}

// httpError returns the HTTP form of a page's error.
func httpError(err error) *orchv1.HttpError {
	detail := func(status int32, text string) *orchv1.HttpError {
		return &orchv1.HttpError{Status: status, Form: &orchv1.HttpError_Detail{Detail: text}}
	}
	if invalid, ok := errors.AsType[*param.Invalid](err); ok {
		return detail(http.StatusBadRequest, "The parameter "+invalid.Name+" of the address must be "+invalid.Expected+". It is “"+show.Visible(invalid.Value)+"”.")
	}
	if _, ok := errors.AsType[*page.NotFound](err); ok {
		return detail(http.StatusNotFound, "Not Found")
	}
	return rpc.HTTPError(err)
}

// describe words an error for people.
func describe(e *orchv1.HttpError) (title, text string) {
	switch form := e.GetForm().(type) {
	case *orchv1.HttpError_Detail:
		text = form.Detail
	case *orchv1.HttpError_ExceptionMessage:
		text = form.ExceptionMessage
	case *orchv1.HttpError_FieldErrors:
		var texts []string
		for _, f := range form.FieldErrors.GetErrors() {
			texts = append(texts, f.GetMsg()+".")
		}
		text = strings.Join(texts, " ")
	}
	switch e.GetStatus() {
	case http.StatusBadRequest:
		return "This address cannot be read", text
	case http.StatusUnauthorized:
		return "Sign in", text
	case http.StatusForbidden:
		if text == "Forbidden" || text == "" {
			text = "Your role in this workspace does not allow this. An owner of the workspace can change your role."
		}
		return "Not allowed", text
	case http.StatusNotFound:
		if text == "Not Found" {
			text = "This page does not exist, or no longer."
		}
		return "Not found", text
	case http.StatusUnprocessableEntity:
		return "The server refused the values", text
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "Not available now", "A service that this page needs does not respond. Try again in a moment. " + text
	case http.StatusInternalServerError:
		return "Something went wrong", "The log of the server has the details under the request id."
	}
	return http.StatusText(int(e.GetStatus())), text
}

// standalone responds with a message outside any workspace.
func (s *Site) standalone(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	f := frame{Title: title, Base: s.prefix(r), Static: s.prefix(r) + s.staticPath, Version: s.opts.Version, Themes: s.themeChoices(r)}
	s.render(w, r, status, "message.html", pongo2.Context{"site": f, "v": explanation{
		Status: status, Title: title, Text: text, RequestID: requestlog.RequestID(w), Back: s.prefix(r) + "/", BackTitle: "Home",
	}})
}
