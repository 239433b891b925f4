package inference

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/jsontree"
)

// Of returns the schema of one sample.
func Of(sample []byte) (*Schema, error) {
	value, err := jsontree.Parse(string(sample))
	if err != nil {
		return nil, fmt.Errorf("infer a schema: %w", err)
	}
	return schemaOf(value, 0), nil
}

// schemaOf returns the schema of a value within depth containers.
func schemaOf(value jsontree.Value, depth int) *Schema {
	switch value := value.(type) {
	case nil:
		return &Schema{types: typeNull}
	case bool:
		return &Schema{types: typeBoolean}
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return &Schema{types: typeNumber}
		}
		return &Schema{types: typeInteger}
	case string:
		return &Schema{types: typeString, format: formatOf(value)}
	case jsontree.List:
		if depth == maxDepth {
			return anything
		}
		s := &Schema{types: typeArray}
		for _, item := range value {
			s.items = Merge(s.items, schemaOf(item, depth+1))
		}
		return s
	case *jsontree.Object:
		if depth == maxDepth {
			return anything
		}
		s := &Schema{types: typeObject, properties: make(map[string]property, value.Len())}
		for _, member := range value.Members() {
			s.properties[member.Key] = property{schemaOf(member.Value, depth+1), true}
		}
		return s.bounded()
	}
	return anything
}

var (
	uuidText     = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	dateTimeText = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
)

// formatOf returns the format of a text.
func formatOf(text string) format {
	const uuidLength, shortestDateTime, longestDateTime = 36, len("2006-01-02T15:04:05Z"), 64
	switch {
	case len(text) == uuidLength && uuidText.MatchString(text):
		return formatUUID
	case len(text) >= shortestDateTime && len(text) <= longestDateTime && dateTimeText.MatchString(text):
		if _, err := time.Parse(time.RFC3339, text); err == nil {
			return formatDateTime
		}
	}
	return formatNone
}
