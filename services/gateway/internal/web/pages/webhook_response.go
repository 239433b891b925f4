package pages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// responseFields are the fields of the form for the response of a webhook, as their reader typed them. headers has one a line.
type responseFields struct{ status, headers, text string }

func responseFieldsOf(r *orchv1.WebhookResponse) responseFields {
	if r == nil {
		return responseFields{}
	}
	f := responseFields{status: strconv.FormatInt(r.GetStatus(), 10), text: r.GetBody()}
	for _, name := range slices.Sorted(maps.Keys(r.GetHeaders())) {
		f.headers += name + ": " + strings.TrimSpace(r.GetHeaders()[name]) + "\n"
	}
	return f
}

func postedResponse(r *page.Request) responseFields {
	return responseFields{status: r.Field("response_status"), headers: newlines(r.Form.Get("response_headers")), text: newlines(r.Form.Get("response_body"))}
}

// body is the response as the API has it; nil for a form without one.
func (f responseFields) body() (any, error) {
	headers := lines(f.headers)
	if f.status == "" && len(headers) == 0 && f.text == "" {
		return nil, nil //nolint:nilnil // The JSON null that removes the response.
	}
	body, byName := apicall.JSON{"body": f.text}, apicall.JSON{}
	if f.status != "" {
		status, err := strconv.ParseInt(f.status, 10, 64)
		if err != nil {
			return nil, rpc.Detail(http.StatusUnprocessableEntity, "The status of the response needs a whole number.")
		}
		body["status"] = status
	}
	for _, line := range headers {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if _, twice := byName[name]; !ok || twice {
			return nil, rpc.Detail(http.StatusUnprocessableEntity, "A header of the response is like Content-Type: application/json, and each name has one line.")
		}
		byName[name] = strings.TrimSpace(value)
	}
	body["headers"] = byName
	return body, nil
}

// responseSummary describes the response of a webhook in a line; empty for none.
func responseSummary(r *orchv1.WebhookResponse) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d, %s, a template of %s", r.GetStatus(), show.Plural(int64(len(r.GetHeaders())), "header", "headers"), show.Bytes(int64(len(r.GetBody()))))
}

// responseView is the data of what a sender receives by the response of a webhook. Its status is 0 without a response.
type responseView struct {
	Status  int64
	Text    string // Of the status.
	Headers []header
	Body    markup.Markup
	Error   string
}

func newResponseView(r *orchv1.WebhookRenderedResponse) responseView {
	if r == nil {
		return responseView{}
	}
	v := responseView{Status: r.GetStatus(), Text: http.StatusText(int(r.GetStatus())), Headers: visibleHeaders(r.GetHeaders())}
	if r.GetBody() != "" {
		v.Body = show.Preformatted(r.GetBody())
	}
	if e := r.GetError(); e != nil {
		v.Error = placedMessage(e)
	}
	return v
}
