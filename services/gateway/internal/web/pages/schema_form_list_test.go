package pages

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// addresses is a list of objects, each with a list of texts.
const addresses = `{"properties": {"x": {"title": "Address", "type": "array", "items": {"$ref": "#/$defs/Address"}}}, "$defs": {"Address": {"type": "object",
	"required": ["port"], "properties": {"host": {"type": "string"}, "port": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}}}`

// object parses the values of a form.
func object(t require.TestingT, text string) *jsontree.Object {
	parsed, err := jsontree.ParseObject([]byte(text))
	require.NoError(t, err)
	return parsed
}

// submit builds the form again from what a reader submits of it, and reads it.
func submit(f schemaForm, schema string, changes url.Values) (again schemaForm, values string, ok bool) {
	r := &page.Request{Zone: time.UTC, Form: typed(f, changes)}
	again = newSchemaForm(r, []byte(schema), jsontree.NewObject())
	read, ok := again.read(r)
	return again, string(jsontree.Text(read)), ok
}

// TestListsOfASchemaHaveEntries changes a list by its buttons, as a browser without scripts does.
func TestListsOfASchemaHaveEntries(t *testing.T) {
	t.Parallel()
	given := `{"x": [{"host": "a", "port": 1, "tags": ["one", "two"]}, {"host": "b", "port": 2, "tags": []}]}`
	for _, c := range []struct {
		name    string
		buttons []url.Values
		typed   url.Values
		values  string
		ok      bool
	}{
		{name: "unchanged", values: given, ok: true},
		{
			name: "an entry more, without its required number", buttons: []url.Values{{addButton: {"p.x"}}},
			values: `{"x": [{"host": "a", "port": 1, "tags": ["one", "two"]}, {"host": "b", "port": 2, "tags": []}, {"host": ""}]}`,
		},
		{
			name: "an entry more", buttons: []url.Values{{addButton: {"p.x"}}}, typed: url.Values{"p.x/2/port": {"3"}},
			values: `{"x": [{"host": "a", "port": 1, "tags": ["one", "two"]}, {"host": "b", "port": 2, "tags": []}, {"host": "", "port": 3}]}`, ok: true,
		},
		{name: "without the first entry", buttons: []url.Values{{removeButton: {"p.x/0"}}}, values: `{"x": [{"host": "b", "port": 2, "tags": []}]}`, ok: true},
		{
			name: "without the first entry of an inner list", buttons: []url.Values{{removeButton: {"p.x/0/tags/0"}}},
			values: `{"x": [{"host": "a", "port": 1, "tags": ["two"]}, {"host": "b", "port": 2, "tags": []}]}`, ok: true,
		},
		{
			name: "an entry more in an inner list", buttons: []url.Values{{addButton: {"p.x/1/tags"}}}, typed: url.Values{"p.x/1/tags/0": {"three"}},
			values: `{"x": [{"host": "a", "port": 1, "tags": ["one", "two"]}, {"host": "b", "port": 2, "tags": ["three"]}]}`, ok: true,
		},
		{name: "without entries", buttons: []url.Values{{removeButton: {"p.x/1"}}, {removeButton: {"p.x/0"}}}, values: `{"x": []}`, ok: true},
		{
			name: "buttons of no entry", buttons: []url.Values{{removeButton: {"p.x/7"}}, {removeButton: {"p.x"}}, {removeButton: {"nothing"}}, {addButton: {"nothing"}}},
			values: given, ok: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(addresses), object(t, given))
			require.True(t, f.HasButtons)
			for _, button := range c.buttons {
				var ok bool
				f, _, ok = submit(f, addresses, button)
				require.False(t, ok, "nothing is sent")
				require.Equal(t, 200, f.status())
				for _, field := range f.Fields {
					require.Empty(t, field.Error)
				}
			}
			again, values, ok := submit(f, addresses, c.typed)
			require.Equal(t, c.ok, ok)
			require.False(t, again.resized)
			require.JSONEq(t, c.values, values)
		})
	}
}

// TestAnObjectThatMayBeNullIsAddedAndRemoved changes null into an object and back by the buttons.
func TestAnObjectThatMayBeNullIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	const schema = `{"properties": {"x": {"nullable": true, "allOf": [{"$ref": "#/$defs/Limit"}]}}, "$defs": {"Limit": {"type": "object", "required": ["n"],
		"properties": {"n": {"type": "integer"}, "mode": {"type": "string", "default": "skip"}}}}}`
	add, remove := url.Values{addButton: {"p.x"}}, url.Values{removeButton: {"p.x/0"}}
	for _, c := range []struct {
		name, given string
		buttons     []url.Values
		typed       url.Values
		values      string
		ok          bool
	}{
		{name: "null stays", given: `{"x": null}`, values: `{"x": null}`, ok: true},
		{name: "absent is null", given: `{}`, values: `{"x": null}`, ok: true},
		{name: "an object stays", given: `{"x": {"n": 2, "mode": "queue"}}`, values: `{"x": {"n": 2, "mode": "queue"}}`, ok: true},
		{name: "added", given: `{}`, buttons: []url.Values{add}, typed: url.Values{"p.x/n": {"3"}}, values: `{"x": {"n": 3, "mode": "skip"}}`, ok: true},
		{name: "added without its required number", given: `{}`, buttons: []url.Values{add}, values: `{"x": {"mode": "skip"}}`},
		{name: "removed", given: `{"x": {"n": 2}}`, buttons: []url.Values{remove}, values: `{"x": null}`, ok: true},
		{name: "removed and added", given: `{"x": {"n": 2}}`, buttons: []url.Values{remove, add}, typed: url.Values{"p.x/n": {"4"}}, values: `{"x": {"n": 4, "mode": "skip"}}`, ok: true},
		{name: "another value is JSON text", given: `{"x": 5}`, values: `{"x": 5}`, ok: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(schema), object(t, c.given))
			for _, button := range c.buttons {
				var ok bool
				f, _, ok = submit(f, schema, button)
				require.False(t, ok, "nothing is sent")
				require.Equal(t, 200, f.status())
			}
			_, values, ok := submit(f, schema, c.typed)
			require.Equal(t, c.ok, ok)
			require.JSONEq(t, c.values, values)
		})
	}
}

func TestAListKeepsInputsThatDoNotParse(t *testing.T) {
	t.Parallel()
	f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(addresses), object(t, `{"x": [{"port": 1}, {"port": 2}]}`))
	f, _, _ = submit(f, addresses, url.Values{removeButton: {"p.x/0"}, "p.x/1/port": {"many"}})
	f, _, ok := submit(f, addresses, nil)
	require.False(t, ok)
	require.Equal(t, 422, f.status())
	for _, field := range f.Fields {
		if field.Name == "p.x/0/port" {
			require.Equal(t, "many", field.Value)
			require.Contains(t, field.Error, "not JSON")
		}
	}
}

func TestListsWithoutAValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, values string }{
		{"an optional list is absent", `{"properties": {"x": {"type": "array", "items": {"type": "integer"}}}}`, `{}`},
		{"a required list is empty", `{"required": ["x"], "properties": {"x": {"type": "array", "items": {"type": "string"}}}}`, `{"x": []}`},
		{"a required list has its least entries", `{"required": ["x"], "properties": {"x": {"type": "array", "minItems": 2, "items": {"type": "string"}}}}`, `{"x": ["", ""]}`},
		{"a list that may be null is null", `{"properties": {"x": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}}}`, `{"x": null}`},
		{"a default has its entries", `{"properties": {"x": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b", "a"]}}}`, `{"x": ["b", "a"]}`},
		{"an empty default stays", `{"properties": {"x": {"type": "array", "items": {"type": "boolean"}, "default": []}}}`, `{"x": []}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(c.schema), jsontree.NewObject())
			require.Equal(t, kindListStart, f.Fields[0].Kind)
			_, values, ok := submit(f, c.schema, nil)
			require.True(t, ok)
			require.JSONEq(t, c.values, values)
		})
	}
}

func TestListsThatAreText(t *testing.T) {
	t.Parallel()
	const texts = `{"type": "array", "items": {"type": "string"}}`
	for _, c := range []struct{ name, property, value string }{
		{"no schema of entries", `{"type": "array"}`, `[1]`},
		{"entries of any kind", `{"type": "array", "items": {}}`, `[1]`},
		{"one schema for each entry", `{"type": "array", "items": [{"type": "string"}]}`, `["a"]`},
		{"secrets", `{"type": "array", "items": {"properties": {"inner": {"type": "string", "format": "password"}}}}`, `[{"inner": "s"}]`},
		{"a value that is no list", texts, `"{{ hosts }}"`},
		{"a long list", texts, "[" + strings.Repeat(`"a",`, maxEntries) + `"a"]`},
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

// A posted form names the number of its entries, and nobody else bounds it.
func TestPostedListsAreBounded(t *testing.T) {
	t.Parallel()
	form := url.Values{"p.x" + entriesSuffix: {"1000000000"}}
	for i := range maxEntries {
		form.Set(fmt.Sprintf("p.x/%d/tags%s", i, entriesSuffix), strconv.Itoa(maxEntries))
	}
	f := newSchemaForm(&page.Request{Zone: time.UTC, Form: form}, []byte(addresses), jsontree.NewObject())
	require.LessOrEqual(t, len(f.Fields), maxPostedFields+10)
	require.NotEmpty(t, f.Errors)
}

// Values of a list, submitted as they are, stay as they are.
func TestListsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var entries []string
		for range rapid.IntRange(0, 5).Draw(t, "entries") {
			var tags []string
			for range rapid.IntRange(0, 3).Draw(t, "tags") {
				tags = append(tags, strconv.Quote(rapid.StringMatching(`[a-z/#]{0,4}`).Draw(t, "tag")))
			}
			entries = append(entries, fmt.Sprintf(`{"host": %q, "port": %d, "tags": [%s]}`,
				rapid.StringMatching(`[a-z/#]{0,4}`).Draw(t, "host"), rapid.Int16().Draw(t, "port"), strings.Join(tags, ",")))
		}
		given := `{"x": [` + strings.Join(entries, ",") + `]}`
		f := newSchemaForm(&page.Request{Zone: time.UTC}, []byte(addresses), object(t, given))
		_, values, ok := submit(f, addresses, nil)
		require.True(t, ok)
		require.JSONEq(t, given, values)
	})
}
