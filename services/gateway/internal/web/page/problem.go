package page

import (
	"errors"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
)

// Problem words the error of a panel; empty for none and for a panel that the reader may not see.
func Problem(err error) string {
	if err == nil || errors.Is(err, apicall.ErrNotAllowed) {
		return ""
	}
	e := rpc.HTTPError(err)
	switch form := e.GetForm().(type) {
	case *orchv1.HttpError_Detail:
		return form.Detail
	case *orchv1.HttpError_FieldErrors:
		texts := []string{"The server refused the values."}
		for _, f := range form.FieldErrors.GetErrors() {
			texts = append(texts, f.GetMsg()+".")
		}
		return strings.Join(texts, " ")
	}
	switch e.GetStatus() {
	case http.StatusForbidden:
		return ""
	case http.StatusGatewayTimeout:
		return "A part of this page took too long."
	case http.StatusServiceUnavailable:
		return "A service that this page needs does not respond."
	}
	return http.StatusText(int(e.GetStatus()))
}
