package openapi_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// reference holds the facts of the API that this one is compatible with: routes, parameters, schemas; no prose. Another document
// of the reference shows what another version changes.
var reference = flag.String("reference", "testdata/reference.json", "the document to compare with")

const (
	// intended lists, with reasons, what differs on purpose.
	intended = "testdata/intended-differences.txt"
	// absent lists the reference's operations that this API does not have. It may only shrink.
	absent = "testdata/absent-operations.txt"
)

var verbose = flag.Bool("differences", false, "print the intended differences too")

// TestDocumentAgreesWithReference compares every operation that both documents have, through all references. 3.1 and 3.0
// write the same things differently; both are brought into one form first (normal_test.go).
func TestDocumentAgreesWithReference(t *testing.T) {
	t.Parallel()
	// The vocabulary's names are no difference: the server speaks either.
	ours, theirs := load(t, contract(t, vocabulary.Prefect)), loadFile(t, *reference)
	found := compareDocuments(ours, theirs)

	allowed := testkit.ReadIntended(t, intended)
	for _, difference := range found {
		reason := allowed.Reason(difference)
		switch {
		case reason == "":
			t.Errorf("not intended: %s", difference)
		case *verbose:
			t.Logf("intended: %s (%s)", difference, reason)
		}
	}
	allowed.CheckUsed(t)
}

// TestAbsentOperationsAreKnown guards against an operation that is lost.
func TestAbsentOperationsAreKnown(t *testing.T) {
	t.Parallel()
	ours, theirs := load(t, contract(t, vocabulary.Prefect)), loadFile(t, *reference)
	have := ours.operations()
	var missing []string
	for _, op := range slices.Sorted(maps.Keys(theirs.operations())) {
		if _, ok := have[op]; !ok {
			missing = append(missing, op)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(absent, []byte(strings.Join(append(missing, ""), "\n")), 0o600))
	}
	text, err := os.ReadFile(absent)
	require.NoError(t, err)
	published := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, op := range missing {
		if !slices.Contains(published, op) {
			t.Errorf("%s is not described", op)
		}
	}
	t.Logf("%d operations of the reference are not described", len(missing))
}

func load(t *testing.T, data []byte) *described {
	t.Helper()
	var out described
	require.NoError(t, json.Unmarshal(data, &out))
	return &out
}

func loadFile(t *testing.T, name string) *described {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return load(t, data)
}
