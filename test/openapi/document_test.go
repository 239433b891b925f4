// Package openapi_test reads the OpenAPI document with an independent parser.
package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, vocab vocabulary.Vocabulary) *openapi3.T {
	t.Helper()
	data, err := openapi.API(vocab)
	require.NoError(t, err)
	document, err := openapi3.NewLoader().LoadFromData(data)
	require.NoError(t, err)
	return document
}

// TestDocumentIsValid checks the document against the OpenAPI 3.0 specification: references, schemas, patterns,
// defaults and examples against their schemas.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		t.Run(vocab.String(), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, load(t, vocab).Validate(t.Context()))
		})
	}
}

// TestEveryShapeIsValid checks a document with every construct that the contract may use.
func TestEveryShapeIsValid(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("../../pkg/openapi/testdata/shapes.json")
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
}

// TestOperationsHaveOneTag also checks that an independent parser finds the summaries.
func TestOperationsHaveOneTag(t *testing.T) {
	t.Parallel()
	for path, item := range load(t, vocabulary.Orch).Paths.Map() {
		for method, op := range item.Operations() {
			require.NotEmpty(t, op.Summary, "%s %s", method, path)
			require.Len(t, op.Tags, 1, "%s %s", method, path)
		}
	}
}
