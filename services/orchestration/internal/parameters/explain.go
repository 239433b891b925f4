package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// explain describes the most useful error of a validation: the first leaf, and for an anyOf its last alternative, which
// is the declared type where null was added.
func explain(e *jsonschema.ValidationError, value any) *InvalidError {
	for len(e.Causes) > 0 {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			e = e.Causes[len(e.Causes)-1]
		default:
			e = e.Causes[0]
		}
	}
	return &InvalidError{Path: path(e.InstanceLocation, value), Reason: reason(e.ErrorKind, at(value, e.InstanceLocation))}
}

// explainSchema describes why a schema is invalid: the first violation of the meta-schema, if any.
func explainSchema(err error, doc any) *SchemaError {
	against, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return &SchemaError{err.Error()}
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](against.Err)
	if !ok {
		return &SchemaError{against.Err.Error()}
	}
	for len(invalid.Causes) > 0 {
		switch invalid.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			return &SchemaError{reason(invalid.ErrorKind, at(doc, invalid.InstanceLocation))}
		}
		invalid = invalid.Causes[0]
	}
	return &SchemaError{reason(invalid.ErrorKind, at(doc, invalid.InstanceLocation))}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path writes a location as "a.b[0]".
func path(location []string, value any) string {
	var out strings.Builder
	for _, step := range location {
		_, list := value.([]any)
		switch {
		case list:
			out.WriteString("[" + step + "]")
		case plainKey.MatchString(step):
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(step)
		default:
			out.WriteString("['" + strings.ReplaceAll(step, "'", `\'`) + "']")
		}
		value = below(value, step)
	}
	return out.String()
}

func at(value any, location []string) any {
	for _, step := range location {
		value = below(value, step)
	}
	return value
}

func below(value any, step string) any {
	switch value := value.(type) {
	case map[string]any:
		return value[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i < len(value) {
			return value[i]
		}
	}
	return nil
}

// english formats errors without a custom text.
var english = message.NewPrinter(language.English)

// maxShown bounds the displayed part of a value in characters.
const maxShown = 200

func reason(k jsonschema.ErrorKind, value any) string {
	shown := show(value)
	if len(shown) > maxShown {
		shown = shown[:maxShown] + "..."
	}
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("%s is not of type %s", shown, quoted(k.Want))
	case *kind.Required:
		return fmt.Sprintf("'%s' is a required property", k.Missing[0])
	case *kind.AdditionalProperties:
		verb := "was"
		if len(k.Properties) > 1 {
			verb = "were"
		}
		return fmt.Sprintf("Additional properties are not allowed (%s %s unexpected)", quoted(k.Properties), verb)
	case *kind.Enum:
		return fmt.Sprintf("%s is not one of %s", shown, show(k.Want))
	case *kind.Const:
		return show(k.Want) + " was expected"
	case *kind.Minimum:
		return fmt.Sprintf("%s is less than the minimum of %s", shown, k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("%s is greater than the maximum of %s", shown, k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("%s is less than or equal to the minimum of %s", shown, k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("%s is greater than or equal to the maximum of %s", shown, k.Want.RatString())
	case *kind.MultipleOf:
		return fmt.Sprintf("%s is not a multiple of %s", shown, k.Want.RatString())
	case *kind.MinLength, *kind.MinItems:
		return shown + " is too short"
	case *kind.MaxLength, *kind.MaxItems:
		return shown + " is too long"
	case *kind.UniqueItems:
		return shown + " has non-unique elements"
	case *kind.AnyOf:
		return shown + " is not valid under any of the given schemas"
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return shown + " is not valid under any of the given schemas"
		}
		return shown + " is valid under more than one of the given schemas"
	case *kind.Pattern:
		return fmt.Sprintf("%s does not match '%s'", shown, k.Want)
	}
	return k.LocalizedString(english)
}

func quoted(vocab []string) string {
	out := make([]string, len(vocab))
	for i, w := range vocab {
		out[i] = "'" + w + "'"
	}
	return strings.Join(out, ", ")
}

// show writes a value as flow authors write it: in Python syntax.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "None"
	case bool:
		if value {
			return "True"
		}
		return "False"
	case string:
		return "'" + value + "'"
	case json.Number:
		return value.String()
	case []any:
		items := make([]string, len(value))
		for i, item := range value {
			items[i] = show(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for i, key := range keys {
			keys[i] = "'" + key + "': " + show(value[key])
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	return fmt.Sprint(value)
}
