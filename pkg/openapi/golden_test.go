package openapi_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

var update = flag.Bool("update", false, "write the golden files")

// The golden file is the published document of the whole contract; the Go client in test/client is generated from it.
const golden = "testdata/openapi.json"

// contract returns the document of all services in one vocabulary.
func contract(t *testing.T, vocab vocabulary.Vocabulary) []byte {
	t.Helper()
	got, err := openapi.API(vocab)
	require.NoError(t, err)
	return got
}

func TestDocumentIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	got := contract(t, vocabulary.Orch)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "run the test with -update and review the change")
}

func TestDocumentIsDeterministic(t *testing.T) {
	t.Parallel()
	first := contract(t, vocabulary.Orch)
	for range 5 {
		require.Equal(t, string(first), string(contract(t, vocabulary.Orch)))
	}
}
