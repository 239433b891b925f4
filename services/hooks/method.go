package hooks

import (
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// methodPrefix begins the names of methods in the contract.
const methodPrefix = "WEBHOOK_METHOD_"

// methodOf returns the method in the terms of the contract; unspecified for others.
func methodOf(method string) orchv1.WebhookMethod {
	return orchv1.WebhookMethod(orchv1.WebhookMethod_value[methodPrefix+method])
}

// allowOf lists methods for the header Allow, in the order of the contract.
func allowOf(methods []orchv1.WebhookMethod) string {
	names := make([]string, len(methods))
	for i, method := range slices.Sorted(slices.Values(methods)) {
		names[i] = strings.TrimPrefix(method.String(), methodPrefix)
	}
	return strings.Join(names, ", ")
}
