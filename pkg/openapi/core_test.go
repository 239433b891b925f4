package openapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// goldenCore is the published document of the core; the Go client in test/client is generated from it.
const goldenCore = "testdata/core.json"

func TestCoreIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	got, err := openapi.Core(vocabulary.Orch)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(goldenCore, got, 0o600))
	}
	want, err := os.ReadFile(goldenCore)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "run the test with -update and review the change")
}

func TestCoreHasFortyOperationsAndShortNames(t *testing.T) {
	t.Parallel()
	text, err := openapi.Core(vocabulary.Prefect)
	require.NoError(t, err)
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(text, &document))
	operations := 0
	for _, item := range document.Paths {
		operations += len(item)
	}
	require.Equal(t, 40, operations)
	for name := range document.Components.Schemas {
		require.False(t, strings.HasPrefix(name, "Body_"), name)
	}
}

func TestDocumentRefusesOperationsThatNoServiceHas(t *testing.T) {
	t.Parallel()
	_, err := openapi.Document(openapi.Options{Operations: []string{"health_check", "nonsense"}}, openapi.Services()...)
	require.ErrorContains(t, err, `no service has the operation "nonsense"`)
	_, err = openapi.Document(openapi.Options{Operations: []string{"health_check"}}, []protoreflect.ServiceDescriptor{}...)
	require.ErrorContains(t, err, "health_check")
}
