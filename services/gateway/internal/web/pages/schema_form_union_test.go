package pages

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// pets is a list of objects of two kinds, as Pydantic describes a discriminated union.
const pets = `{"$defs": {
	"Cat": {"title": "A cat", "required": ["kind", "name"], "properties": {"kind": {"const": "cat"}, "name": {"type": "string"}, "lives": {"type": "integer", "default": 9}}},
	"Dog": {"required": ["kind", "name"], "properties": {"kind": {"enum": ["dog"]}, "name": {"type": "string"}, "tricks": {"type": "array", "items": {"type": "string"}}}}},
	"properties": {"x": {"type": "array", "items": {"discriminator": {"propertyName": "kind"}, "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}}}}`

func TestObjectsOfSeveralKinds(t *testing.T) {
	t.Parallel()
	given := `{"x": [{"kind": "dog", "name": "Rex", "tricks": ["sit"]}]}`
	for _, c := range []struct {
		name    string
		buttons []url.Values
		typed   url.Values
		values  string
		ok      bool
	}{
		{name: "unchanged", values: given, ok: true},
		{
			name: "another kind keeps common fields and has defaults", buttons: []url.Values{{chooseButton: {"yes"}, "p.x/0/kind": {`"cat"`}}},
			values: `{"x": [{"kind": "cat", "name": "Rex", "lives": 9}]}`, ok: true,
		},
		{name: "another kind without its fields", typed: url.Values{"p.x/0/kind": {`"cat"`}}, values: `{"x": [{"kind": "cat", "name": "Rex"}]}`, ok: true},
		{
			name: "an entry more", buttons: []url.Values{{addButton: {"p.x"}}}, typed: url.Values{"p.x/1/name": {"Tom"}},
			values: `{"x": [{"kind": "dog", "name": "Rex", "tricks": ["sit"]}, {"kind": "cat", "name": "Tom", "lives": 9}]}`, ok: true,
		},
		{name: "a kind that does not exist", typed: url.Values{"p.x/0/kind": {`"bird"`}}, values: `{"x": [{"name": "Rex"}]}`},
		{name: "a kind that is not JSON", typed: url.Values{"p.x/0/kind": {`{`}}, values: `{"x": [{"name": "Rex"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(pets), object(t, given))
			require.True(t, f.HasButtons)
			for _, button := range c.buttons {
				var ok bool
				f, _, ok = submit(f, pets, button)
				require.False(t, ok, "nothing is sent")
				require.Equal(t, 200, f.status())
			}
			_, values, ok := submit(f, pets, c.typed)
			require.Equal(t, c.ok, ok)
			require.JSONEq(t, c.values, values)
		})
	}
}

func TestObjectsOfSeveralKindsThatAreText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, property, value string }{
		{"a kind without a name", `{"discriminator": {"propertyName": "kind"}, "oneOf": [{"properties": {}}, {"properties": {}}]}`, `{"kind": "a"}`},
		{"a value of no kind", `{"discriminator": {"propertyName": "kind"}, "oneOf": [{"properties": {"kind": {"const": "a"}}}, {"properties": {"kind": {"const": "b"}}}]}`, `{"kind": "c"}`},
		{"a value that is not an object", `{"discriminator": {"propertyName": "kind"}, "oneOf": [{"properties": {"kind": {"const": "a"}}}, {"properties": {"kind": {"const": "b"}}}]}`, `[1]`},
		{"a list with secrets", `{"type": "array", "items": {"discriminator": {"propertyName": "kind"}, "oneOf": [{"properties": {"kind": {"const": "a"}}},
			{"properties": {"kind": {"const": "b"}, "s": {"type": "string", "format": "password"}}}]}}`, `[{"kind": "b", "s": "x"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema := `{"properties": {"x": ` + c.property + `}}`
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(schema), object(t, `{"x": `+c.value+`}`))
			require.Len(t, f.Fields, 1)
			require.Equal(t, kindJSON, f.Fields[0].Kind)
			_, values, ok := submit(f, schema, nil)
			require.True(t, ok)
			require.JSONEq(t, `{"x": `+c.value+`}`, values)
		})
	}
}

func TestNotations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, notation, value, text, read, problem string }{
		{name: "seconds", notation: "duration", value: `5400.0`, text: "1 h 30 min", read: `5400`},
		{name: "no seconds", notation: "duration", value: `0.0`, text: "0", read: `0`},
		{name: "parts of a second", notation: "duration", value: `0.25`, text: "0.25", read: `0.25`},
		{name: "days", notation: "duration", value: `90061`, text: "1 d 1 h 1 min 1 s", read: `90061`},
		{name: "words for units", notation: "duration", text: "2hours 5 minutes", read: `7500`},
		{name: "ISO 8601", notation: "duration", value: `"PT1H"`, text: "PT1H", read: `"PT1H"`},
		{name: "no duration", notation: "duration", text: "soon", read: `"soon"`},
		{name: "a word", notation: "word", value: `"any"`, text: "any", read: `"any"`},
		{name: "a number", notation: "word", value: `2`, text: "2", read: `2`},
		{name: "lines", notation: "lines", value: `["a", "b c"]`, text: "a\nb c", read: `["a", "b c"]`},
		{name: "no lines", notation: "lines", value: `[]`, text: "", read: `[]`},
		{name: "lines that are not lines", notation: "lines", value: `["a\nb", ""]`, text: `["a\nb",""]`, read: `["a\nb", ""]`},
		{name: "broken JSON", notation: "lines", text: `["a`, problem: "not JSON: line 1, column 2: a string does not end"},
		{name: "labels", notation: "labels", value: `{"a": "1", "b": ["x", "!y*"]}`, text: "a = 1\nb = x\nb = !y*", read: `{"a": "1", "b": ["x", "!y*"]}`},
		{name: "an empty label", notation: "labels", text: "a =", read: `{"a": ""}`},
		{name: "labels of several resources", notation: "labels", value: `[{"a": "1"}, {"a": "2"}]`, text: "a = 1\n\na = 2", read: `[{"a": "1"}, {"a": "2"}]`},
		{name: "three values", notation: "labels", text: "a=1\na=2\na=3", read: `{"a": ["1", "2", "3"]}`},
		{name: "labels that lines cannot hold", notation: "labels", value: `{"a=b": " c"}`, text: `{"a=b":" c"}`, read: `{"a=b": " c"}`},
		{name: "no value of a label", notation: "labels", text: "a = 1\nb", problem: "line 2: a label is written as name = value"},
		{name: "an id", notation: "id", value: `"x"`, text: "x", read: `"x"`},
		{name: "no id", notation: "id", text: " "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema := `{"properties": {"x": {"notation": "` + c.notation + `"}}}`
			given := jsontree.NewObject()
			if c.value != "" {
				given = object(t, `{"x": `+c.value+`}`)
			}
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(schema), given)
			changes := url.Values{"p.x": {c.text}}
			if c.value != "" {
				require.Equal(t, c.text, f.Fields[0].Value)
				changes = nil
			}
			f, values, ok := submit(f, schema, changes)
			require.Equal(t, c.problem == "", ok)
			if !ok {
				require.Equal(t, c.problem, f.Fields[0].Error)
				require.Equal(t, c.text, f.Fields[0].Value)
				return
			}
			want := `{}`
			if c.read != "" {
				want = `{"x": ` + c.read + `}`
			}
			require.JSONEq(t, want, values)
		})
	}
}
