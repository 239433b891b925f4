package openapi

import (
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// durationFormat marks a text that is an ISO 8601 duration.
const durationFormat = "duration"

// duration gives the schema of a duration: a text when it is sent, seconds when it is answered.
func duration(dir direction) *schema {
	if dir == input {
		return &schema{Type: "string", Format: durationFormat}
	}
	return &schema{Type: "number", Description: "Seconds."}
}

// defaultValue gives the default of a field as it would be written in this direction.
func defaultValue(fd protoreflect.FieldDescriptor, text string, dir direction) (json.RawMessage, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("%s: read the default %q: %w", fd.FullName(), text, err)
	}
	single := !fd.IsList() && !fd.IsMap()
	if !single || fd.Message() == nil || fd.Message().FullName() != durationName {
		return json.RawMessage(text), nil
	}
	switch value := value.(type) {
	case string:
		if dir == input {
			return json.RawMessage(text), nil
		}
		micros, reason := restjson.ParseDuration(value)
		if reason != "" {
			return nil, fmt.Errorf("%s: read the default %q: %s", fd.FullName(), text, reason)
		}
		const second = 1e6
		return restjson.AppendFloat(nil, float64(micros)/second), nil
	case float64:
		if dir == output {
			return json.RawMessage(text), nil
		}
		return quote("PT" + strconv.FormatFloat(value, 'f', -1, 64) + "S"), nil
	}
	return nil, fmt.Errorf("%s: the default %q is no duration", fd.FullName(), text)
}
