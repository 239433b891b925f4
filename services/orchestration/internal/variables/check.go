package variables

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/namecheck"
)

// maxValue bounds a value, in bytes of JSON without spaces.
const maxValue = 5000

// check refuses a name or a value that clients could not read again: they would refuse every list that it is in.
func check(name string, value []byte) error {
	if err := namecheck.DashedOrUnderscored(name, "Variable name", "name"); err != nil {
		return err
	}
	if len(value) <= maxValue {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("read the value of a variable: %w", err)
	}
	if compact.Len() > maxValue {
		return rpc.Invalid(rpc.BodyError("value_error", fmt.Sprintf("Value error, Variable value must be less than %d characters", maxValue), "value"))
	}
	return nil
}
