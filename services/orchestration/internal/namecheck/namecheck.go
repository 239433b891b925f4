// Package namecheck checks the characters of names that clients choose. Clients check them too when they read: a name that
// slipped through would spoil every list that it is in.
package namecheck

import (
	"fmt"
	"regexp"

	"github.com/orch-project/orch/pkg/rpc"
)

var (
	dashed      = regexp.MustCompile(`^[a-z0-9-]*$`)
	underscored = regexp.MustCompile(`^[a-z0-9_-]*$`)
)

// Dashed refuses a name of other characters than small letters, digits and dashes. What is named, and in which field of a
// body, is said in the answer.
func Dashed(name, what, field string) error {
	return check(dashed, name, what, "dashes", field)
}

// DashedOrUnderscored is [Dashed] that lets underscores pass.
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
