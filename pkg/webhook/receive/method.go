package receive

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Methods that a webhook takes, as they are listed in Allow.
const allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

var (
	withBody    = []string{http.MethodPost, http.MethodPut, http.MethodPatch}
	withoutBody = []string{http.MethodGet, http.MethodHead, http.MethodDelete}
)

// Allowed tells whether a webhook takes requests like this one; when not, the second value belongs into Allow. OPTIONS
// is a method of webhooks only as the handshake that senders of CloudEvents make.
func Allowed(r *http.Request) (bool, string) {
	ok := slices.Contains(withBody, r.Method) || slices.Contains(withoutBody, r.Method) ||
		r.Method == http.MethodOptions && r.Header.Get(headerRequestOrigin) != ""
	return ok, allowed
}

// methodPrefix begins the names of methods in the contract.
const methodPrefix = "WEBHOOK_METHOD_"

// ErrMethod means that the webhook's list of methods lacks that of the request.
var ErrMethod = errors.New("the webhook does not accept the method of the request")

// CheckMethod returns ErrMethod unless a webhook with this list of methods accepts a method. An empty list accepts all.
func CheckMethod(methods []orchv1.WebhookMethod, method string) error {
	if len(methods) == 0 || slices.Contains(methods, orchv1.WebhookMethod(orchv1.WebhookMethod_value[methodPrefix+method])) {
		return nil
	}
	return ErrMethod
}

// Allow lists methods for the header Allow, in the order of the contract.
func Allow(methods []orchv1.WebhookMethod) string {
	names := make([]string, len(methods))
	for i, method := range slices.Sorted(slices.Values(methods)) {
		names[i] = strings.TrimPrefix(method.String(), methodPrefix)
	}
	return strings.Join(names, ", ")
}
