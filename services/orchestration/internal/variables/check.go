package variables

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
)

// maxValue is the maximum size of a value in bytes of JSON without spaces.
const maxValue = 5000

// check rejects a name or value that clients could not read: it would break every list that contains it.
func check(name string, value []byte) error {
	if err := naming.DashedOrUnderscored(name, "Variable name", "name"); err != nil {
		return err
	}
	if len(value) <= maxValue {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("read variable value: %w", err)
	}
	if compact.Len() > maxValue {
		return rpc.Invalid(rpc.BodyError("value_error", fmt.Sprintf("Value error, Variable value must be less than %d characters", maxValue), "value"))
	}
	return nil
}
