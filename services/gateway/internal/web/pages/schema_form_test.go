package pages

import (
	"maps"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// typed returns the values of a form as somebody would submit it, with changes.
func typed(f schemaForm, changes url.Values) url.Values {
	form := f.submitted()
	maps.Copy(form, changes)
	return form
}

func TestSchemaFormsReadWhatWasTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, property, kind string
		typed                string // The unchanged form if empty.
		value                string // Of the member x; empty if it is absent.
		problem              string
	}{
		{"a text", `{"type": "string"}`, kindText, "a b", `"a b"`, ""},
		{"a number", `{"type": "integer"}`, kindNumber, "12", `12`, ""},
		{"a number keeps its notation", `{"type": "number", "default": 1.50}`, kindNumber, "", `1.50`, ""},
		{"no number", `{"type": "integer"}`, kindNumber, `"a"`, "", "not a number"},
		{"an absent number", `{"type": "integer"}`, kindNumber, "", "", ""},
		{"a default", `{"type": "boolean", "default": true}`, kindCheckbox, "", `true`, ""},
		{"a choice", `{"enum": ["a", 2], "default": 2}`, kindChoice, "", `2`, ""},
		{"a choice of nothing", `{"enum": ["a", 2]}`, kindChoice, "", "", ""},
		{"another choice", `{"enum": ["a", 2]}`, kindChoice, `"b"`, "", "not one of the choices"},
		{"a constant", `{"const": "only", "default": "only"}`, kindChoice, "", `"only"`, ""},
		{"an optional text", `{"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}`, kindText, "", `null`, ""},
		{"an optional yes or no", `{"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": null}`, kindChoice, "true", `true`, ""},
		{"types in a list", `{"type": ["integer", "null"]}`, kindNumber, "", `null`, ""},
		{"one of several types", `{"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1}`, kindJSON, "", `1`, ""},
		{"a reference", `{"$ref": "#/$defs/Text", "default": "d"}`, kindText, "", `"d"`, ""},
		{"a reference in allOf", `{"allOf": [{"$ref": "#/$defs/Text"}], "title": "T"}`, kindText, "v", `"v"`, ""},
		{"a circle of references", `{"$ref": "#/$defs/A"}`, kindJSON, "[1]", `[1]`, ""},
		{"a reference to nothing", `{"$ref": "#/$defs/None"}`, kindJSON, "", "", ""},
		{"a reference to another document", `{"$ref": "http://example.com"}`, kindJSON, "", "", ""},
		{"a date", `{"type": "string", "format": "date", "default": "2030-01-31"}`, kindDate, "", `"2030-01-31"`, ""},
		{"a date that is none", `{"type": "string", "format": "date", "default": "today"}`, kindText, "", `"today"`, ""},
		{"a time", `{"type": "string", "format": "time"}`, kindTime, "12:30", `"12:30"`, ""},
		{"a moment is in the zone of the page", `{"type": "string", "format": "date-time", "default": "2030-01-31T12:00:00Z"}`, kindDateTime, "", `"2030-01-31T13:00:00+01:00"`, ""},
		{"a moment without zone stays so", `{"type": "string", "format": "date-time", "default": "2030-01-31T12:00:00"}`, kindDateTime, "", `"2030-01-31T12:00:00"`, ""},
		{"a moment that is none", `{"type": "string", "format": "date-time"}`, kindDateTime, "noon", "", "not a time such as 2030-01-31T12:00"},
		{"a password keeps its default", `{"type": "string", "format": "password", "default": "***"}`, kindPassword, "", "", ""},
		{"several lines", `{"type": "string", "default": "a\nb"}`, kindLines, "a\r\nc", `"a\nc"`, ""},
		{"a list", `{"type": "array", "default": []}`, kindJSON, `[1, "a"]`, `[1,"a"]`, ""},
		{"bad JSON", `{"type": "array"}`, kindJSON, `[1`, "", "not JSON: line 1, column 3: a comma or a closing bracket is expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation("Europe/Vienna")
			require.NoError(t, err)
			r := &page.Request{Zone: zone}
			f := newSchemaForm(r, []byte(`{"$defs": {"Text": {"type": "string"}, "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "properties": {"x": `+c.property+`}}`), jsontree.NewObject())
			require.Len(t, f.Fields, 1)
			require.Equal(t, c.kind, f.Fields[0].Kind)
			changes := url.Values{}
			if c.typed != "" {
				changes.Set("p.x", c.typed)
			}
			r.Form = typed(f, changes)
			values, ok := f.read(r)
			require.Equal(t, c.problem, f.Fields[0].Error)
			require.Equal(t, c.problem == "", ok)
			value, given := values.Get("x")
			require.Equal(t, c.value != "", given)
			if given {
				require.Equal(t, c.value, string(jsontree.Text(value)))
			}
		})
	}
}

func TestSchemaFormsDemandRequiredFields(t *testing.T) {
	t.Parallel()
	const schema = `{"required": ["a", "b", "c", "d", "e"], "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"enum": [1]}, "d": {"type": "array"},
		"e": {"type": "object", "required": ["inner"], "properties": {"inner": {"type": "number"}}}}}`
	r := &page.Request{Zone: time.UTC}
	f := newSchemaForm(r, []byte(schema), jsontree.NewObject())
	r.Form = typed(f, nil)
	_, ok := f.read(r)
	require.False(t, ok)
	for _, field := range f.Fields {
		if field.Kind != kindGroupStart && field.Kind != kindGroupEnd {
			require.Equal(t, valueRequired, field.Error, field.Name)
		}
	}
	r.Form = typed(f, url.Values{"p.a": {"x"}, "p.b": {"false"}, "p.c": {"1"}, "p.d": {"[]"}, "p.e/inner": {"2"}})
	f = newSchemaForm(r, []byte(schema), jsontree.NewObject())
	values, ok := f.read(r)
	require.True(t, ok)
	require.JSONEq(t, `{"a": "x", "b": false, "c": 1, "d": [], "e": {"inner": 2}}`, string(jsontree.Text(values)))
}

func TestSchemasThatContainThemselvesEnd(t *testing.T) {
	t.Parallel()
	properties := jsontree.NewObject()
	for i := range 300 {
		properties.Set(strconv.Itoa(i), jsontree.NewObject(jsontree.Member{Key: "$ref", Value: "#"}))
	}
	schema := jsontree.Text(jsontree.NewObject(jsontree.Member{Key: "properties", Value: properties}))
	f := newSchemaForm(&page.Request{Zone: time.UTC}, schema, jsontree.NewObject())
	require.Less(t, len(f.Fields), 2_000)
}

func FuzzSchemaForm(f *testing.F) {
	f.Add(`{"properties": {"a": {"$ref": "#/properties/a"}, "b": {"anyOf": [null, 1, {"type": "null"}]}}}`, `{"a": {"b": 1}}`)
	f.Add(`{"properties": {"a": {"type": "object", "properties": {"a": {"$ref": "#"}}}}, "required": 1}`, `{}`)
	f.Add(`{"properties": {"d": {"type": "string", "format": "date-time", "default": 5}}}`, `{"d": []}`)
	f.Add(`{"properties": {"x": {"type": "array", "items": {"properties": {"x": {"$ref": "#/properties/x"}, "": {"enum": [1]}}}, "minItems": -1}}}`, `{"x": [{"x": [{}]}, 1]}`)
	f.Fuzz(func(t *testing.T, schema, values string) {
		given, err := jsontree.ParseObject([]byte(values))
		if err != nil {
			given = jsontree.NewObject()
		}
		r := &page.Request{Zone: time.UTC}
		form := newSchemaForm(r, []byte(schema), given)
		r.Form = typed(form, nil)
		read, ok := form.read(r)
		require.NotNil(t, read)
		if ok {
			_, err := jsontree.ParseObject(jsontree.Text(read))
			require.NoError(t, err)
		}
	})
}
