package rest_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// TestServerAcceptsExamples posts the example of every request body to a server with authentication, each with fresh
// fixtures, and expects success. It also checks the response against the document.
func TestServerAcceptsExamples(t *testing.T) {
	t.Parallel()
	s := start(t, "ORCH_AUTH", "keys")
	fixtures := newFixtures(s)
	items := s.document.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(items)) {
		for method, op := range items[path].Operations() {
			if op.RequestBody == nil {
				continue
			}
			t.Run(op.OperationID, func(t *testing.T) {
				media := op.RequestBody.Value.Content.Get("application/json")
				require.NotNil(t, media, "the request body is not JSON")
				require.NotNil(t, media.Example, "add pkg/openapi/examples/%s.json, then `make gen`", op.OperationID)
				body, err := json.Marshal(media.Example)
				require.NoError(t, err)
				fixtures.reset(t)
				filled := fixtures.path(op, path)
				got := s.send(method, filled, fixtures.body(string(body)), nil)
				require.Less(t, got.status, http.StatusMultipleChoices,
					"%s %s refuses pkg/openapi/examples/%s.json: %s", method, filled, op.OperationID, got.body)
				s.fits(method, path, got)
			})
		}
	}
}

// exampleUUID matches the UUIDs of examples; the last two digits select the fixture.
var exampleUUID = regexp.MustCompile(`0197b1c4-7a2e-7d31-9c4b-5a1e0c6f00(\d\d)`)

// pathVariable matches a variable of a path.
var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// body replaces the UUIDs of an example by those of fixtures.
func (f *fixtures) body(example string) string {
	return exampleUUID.ReplaceAllStringFunc(example, func(id string) string {
		name, exists := exampleObjects[id[len(id)-2:]]
		require.True(f.t, exists, "the example's UUID %s is not in exampleObjects of test/rest/fixtures_test.go", id)
		return f.get(name)
	})
}

// path fills the variables of an operation's path with fixtures.
func (f *fixtures) path(op *openapi3.Operation, path string) string {
	return pathVariable.ReplaceAllStringFunc(path, func(variable string) string {
		variable = strings.Trim(variable, "{}")
		for _, key := range []string{op.OperationID + " " + variable, firstSegment(path) + " " + variable, variable} {
			if name, exists := pathObjects[key]; exists {
				return f.get(name)
			}
		}
		require.Fail(f.t, "no fixture", "add %q to pathObjects in test/rest/fixtures_test.go", firstSegment(path)+" "+variable)
		return ""
	})
}

// firstSegment returns the collection of a path: "flows" of "/flows/{id}", "teams" below an account.
func firstSegment(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/accounts/{account_id}"), "/")
	segment, _, _ := strings.Cut(path, "/")
	return segment
}
