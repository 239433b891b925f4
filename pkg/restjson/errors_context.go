package restjson

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// contextMember is one member of an error's "ctx": the violated rule with its parameters, such as max_length.
type contextMember struct {
	name  string
	value any // a string, an integer, or JSON
}

// contextObject returns the members as a JSON object; nil without any.
func contextObject(members []contextMember) []byte {
	if len(members) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsontoken.AppendString(out, m.name), ':')
		switch value := m.value.(type) {
		case string:
			out = jsontoken.AppendString(out, value)
		case json.RawMessage:
			out = append(out, value...)
		default:
			out = fmt.Append(out, value)
		}
	}
	return append(out, '}')
}

// limit returns the bound of a number in the form of the field's type.
func (f *field) limit(name string, bound float64) contextMember {
	switch f.kind {
	case KindFloat, KindDouble, KindDuration:
		return contextMember{name, json.RawMessage(appendFloat(nil, bound, 64))}
	}
	return contextMember{name, int64(bound)}
}

// context returns the words that the enum accepts.
func (w *enumNames) context() contextMember {
	return contextMember{"expected", strings.TrimPrefix(w.expect, "Input should be ")}
}
