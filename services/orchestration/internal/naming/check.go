// Package naming checks the characters of client-chosen names, and generates names for unnamed resources. Clients validate names when they read them, so one
// invalid name would break every list that contains it.
package naming

import (
	"fmt"
	"regexp"

	"github.com/orch-project/orch/pkg/rpc"
)

var (
	dashed      = regexp.MustCompile(`^[a-z0-9-]*$`)
	underscored = regexp.MustCompile(`^[a-z0-9_-]*$`)
)

// Dashed rejects a name with characters other than lower-case letters, digits and dashes. The error names the resource
// and the body field.
func Dashed(name, what, field string) error {
	return check(dashed, name, what, "dashes", field)
}

// DashedOrUnderscored is [Dashed] that also permits underscores.
func DashedOrUnderscored(name, what, field string) error {
	return check(underscored, name, what, "dashes or underscores", field)
}

func check(allowed *regexp.Regexp, name, what, marks, field string) error {
	if allowed.MatchString(name) {
		return nil
	}
	return rpc.Invalid(rpc.BodyError("value_error",
		fmt.Sprintf("Value error, %s must only contain lowercase letters, numbers, and %s.", what, marks), field))
}
