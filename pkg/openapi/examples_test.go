package openapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// TestRequestBodiesHaveExamples names the file to add for each operation without an example, and finds files of
// operations that do not exist. Package test/rest checks that the server accepts the examples.
func TestRequestBodiesHaveExamples(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	files, err := os.ReadDir("examples")
	require.NoError(t, err)
	for _, file := range files {
		unused[strings.TrimSuffix(file.Name(), ".json")] = true
	}
	for name, op := range load(t, contract(t, vocabulary.Orch)).operations() {
		if op.RequestBody == nil {
			continue
		}
		for _, media := range op.RequestBody.Content {
			if media.Example == nil {
				t.Errorf("%s has no example: add pkg/openapi/examples/%s.json with a request body that the server accepts, "+
					"then `make gen`; fixtures for its UUIDs and path variables are in test/rest/fixtures_test.go", name, op.OperationID)
			}
		}
		delete(unused, op.OperationID)
	}
	require.Empty(t, unused, "examples of operations that do not exist, or have no request body")
}

// TestExamplesFollowTheVocabulary checks that names of the server are replaced everywhere.
func TestExamplesFollowTheVocabulary(t *testing.T) {
	t.Parallel()
	for name, op := range load(t, contract(t, vocabulary.Prefect)).operations() {
		if op.RequestBody == nil {
			continue
		}
		for _, media := range op.RequestBody.Content {
			text, err := json.Marshal(media.Example)
			require.NoError(t, err)
			require.NotContains(t, string(text), vocabulary.Orch.Name()+".", name)
		}
	}
}
