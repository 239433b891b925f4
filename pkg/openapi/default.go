package openapi

import (
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// durationFormat is the format of ISO 8601 durations.
const durationFormat = "duration"

// duration returns the schema of a duration: ISO 8601 text in requests, seconds in responses.
func duration(dir direction) *schema {
	if dir == input {
		return &schema{Type: "string", Format: durationFormat}
	}
	return &schema{Type: "number", Description: "Duration in seconds."}
}

// defaultValue returns the default of a field in the form of a direction.
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
	return nil, fmt.Errorf("%s: the default %q is not a duration", fd.FullName(), text)
}
