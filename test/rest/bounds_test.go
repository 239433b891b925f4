package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Parts of the field errors of bounds: the type for a text is string_too_long, or too_long where the bound counts its checked value.
const (
	tooLong      = "too_long"
	jsonTooLarge = "value_error: Value error, the JSON must have at most"
)

// bound is an upper bound of a property: value returns a value of a size, which is measured as the bound is.
type bound struct {
	most  int
	value func(size int) any
	kind  string // A part of the field error.
}

// TestBoundsOfRequestBodies posts examples with a value at each upper bound that the OpenAPI document declares, and with
// one above it. The first is not refused for its size. The second is a 422 that names the property, and creates nothing.
func TestBoundsOfRequestBodies(t *testing.T) {
	t.Parallel()
	s := start(t, "ORCH_AUTH", "keys")
	fixtures := newFixtures(s)
	tested := map[string]bool{}
	items := s.document.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(items)) {
		for method, op := range items[path].Operations() {
			if op.RequestBody == nil || strings.HasPrefix(path, "/accounts/") {
				continue // Changes to the account would change what the fixtures may do.
			}
			media := op.RequestBody.Value.Content.Get("application/json")
			schema := media.Schema.Value
			if len(schema.AllOf) == 1 {
				schema = merged(schema)
			}
			for name, property := range schema.Properties {
				for _, b := range boundsOf(property.Value, example(media.Example, name)) {
					tested[name] = true
					fixtures.reset(t)
					what := fmt.Sprintf("%s %s: %s: %s at %d", method, path, name, b.kind, b.most)
					target := fixtures.path(op, path)
					count := s.counter(path)
					got := s.send(method, target, fixtures.with(media.Example, name, b.value(b.most)), nil)
					require.NotContains(t, strings.Join(errorsAt(got, name), " "), b.kind, "%s: %.500s", what, got.body)
					require.Less(t, got.status, http.StatusInternalServerError, "%s: %.500s", what, got.body)
					before := count()
					got = s.send(method, target, fixtures.with(media.Example, name, b.value(b.most+1)), nil)
					require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s, and one above: %.500s", what, got.body)
					require.Contains(t, strings.Join(errorsAt(got, name), " "), b.kind, "%s, and one above: %.500s", what, got.body)
					require.Equal(t, before, count(), "%s: the refused request wrote something", what)
				}
			}
		}
	}
	for _, name := range []string{
		"name", "tags", "labels", "parameters", "job_variables", "base_job_template", "description", "work_pool_name", "work_queue_name",
		"idempotency_key", "metadata_", "actions", "owner_resource",
	} {
		require.True(t, tested[name], "no operation declares a bound of %s", name)
	}
}

// boundsOf returns the bounds of a property and of the items in it. The example's first item fills a list of objects.
func boundsOf(s *openapi3.Schema, example any) []bound {
	if len(s.AllOf) == 1 {
		s = merged(s)
	}
	var out []bound
	switch {
	case s.Type.Is("string") && s.MaxLength != nil:
		out = append(out, bound{int(*s.MaxLength), func(n int) any { return strings.Repeat("a", n) }, tooLong})
	case s.Type.Is("array"):
		items := s.Items.Value
		filled, _ := example.([]any)
		if s.MaxItems != nil && (items.Type.Is("string") || len(filled) > 0) {
			out = append(out, bound{int(*s.MaxItems), func(n int) any {
				list := make([]any, n)
				for i := range list {
					switch {
					case !items.Type.Is("string"):
						list[i] = filled[0]
					case items.Format == "uuid":
						list[i] = uuid.NewString()
					default:
						list[i] = fmt.Sprint("item", i)
					}
				}
				return list
			}, tooLong})
		}
		if items.Type.Is("string") && items.MaxLength != nil {
			out = append(out, bound{int(*items.MaxLength), func(n int) any { return []any{strings.Repeat("a", n)} }, tooLong})
		}
	}
	if most := extension(s, "x-max-bytes"); most > 0 {
		out = append(out, bound{most, func(n int) any { return map[string]any{"k": strings.Repeat("a", n-len(`{"k":""}`))} }, jsonTooLarge})
	}
	if s.MaxProps != nil {
		out = append(out, bound{int(*s.MaxProps), func(n int) any {
			object := map[string]any{}
			for i := range n {
				object[fmt.Sprint("key", i)] = "v"
			}
			return object
		}, tooLong})
	}
	if most := extension(s, "x-max-key-length"); most > 0 {
		out = append(out, bound{most, func(n int) any { return map[string]any{strings.Repeat("a", n): "v"} }, tooLong})
	}
	if most := longest(s.AdditionalProperties.Schema); most > 0 {
		out = append(out, bound{most, func(n int) any { return map[string]any{"k": strings.Repeat("a", n)} }, tooLong})
	}
	return out
}

// longest returns the maximum length of texts that a schema or one of its variants accepts, or 0.
func longest(schema *openapi3.SchemaRef) int {
	if schema == nil {
		return 0
	}
	for _, variant := range append(openapi3.SchemaRefs{schema}, schema.Value.AnyOf...) {
		if s := variant.Value; s.Type.Is("string") && s.MaxLength != nil {
			return int(*s.MaxLength)
		}
	}
	return 0
}

// merged returns the schema that a nullable or described reference leads to, with the bounds of both.
func merged(s *openapi3.Schema) *openapi3.Schema {
	out := *s.AllOf[0].Value
	if s.MaxItems != nil {
		out.MaxItems = s.MaxItems
	}
	return &out
}

// extension returns a whole number in an extension of a schema, or 0.
func extension(s *openapi3.Schema, name string) int {
	n, _ := s.Extensions[name].(float64)
	return int(n)
}

// example returns a member of an example.
func example(body any, name string) any {
	object, _ := body.(map[string]any)
	return object[name]
}

// with returns an example with another value of a property, and a new name.
func (f *fixtures) with(body any, name string, value any) string {
	object, ok := body.(map[string]any)
	require.True(f.t, ok)
	object = maps.Clone(object)
	if _, named := object["name"]; named {
		f.count++
		object["name"] = fmt.Sprint("bound", f.count)
	}
	object[name] = value
	text, err := json.Marshal(object)
	require.NoError(f.t, err)
	return f.body(string(text))
}

// errorsAt returns the types and messages of the field errors of a response below a property of the body.
func errorsAt(got answer, name string) []string {
	var body struct {
		Detail []struct {
			Type    string `json:"type"`
			Message string `json:"msg"`
			Loc     []any  `json:"loc"`
		} `json:"exception_detail"`
	}
	_ = json.Unmarshal(got.body, &body) // Another form of error has none.
	var fieldErrors []string
	for _, e := range body.Detail {
		if slices.Contains(e.Loc, any(name)) {
			fieldErrors = append(fieldErrors, e.Type+": "+e.Message)
		}
	}
	return fieldErrors
}

// counter returns a function that counts the objects of a path's collection; it returns 0 if the API cannot count them.
func (s *server) counter(path string) func() string {
	count := "/" + firstSegment(path) + "/count"
	item := s.document.Paths.Value(count)
	if item == nil || item.Post == nil {
		return func() string { return "" }
	}
	body := `{}`
	if strings.HasPrefix(count, "/flow_runs/") { // The scheduler adds runs meanwhile: earlier examples have created schedules.
		body = `{"flow_runs": {"created_by": {"operator": "or_", "is_null_": true, "type_": ["DEPLOYMENT", "AUTOMATION"]}}}`
	}
	return func() string { return string(s.send(http.MethodPost, count, body, nil).body) }
}
