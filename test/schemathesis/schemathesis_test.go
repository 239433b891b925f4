//go:build e2e

package schemathesis_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/test/e2e"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// limit bounds a run; the default number of examples takes a fraction of it.
const limit = time.Hour

// figures matches the lines of the report with the number of requests.
var figures = regexp.MustCompile(`(?m)^ *(?:Selected: .*|Tested: .*|\d+ generated.*|API Links: .*)$`)

func TestServerKeepsItsDocument(t *testing.T) {
	program := os.Getenv("ORCH_TEST_SCHEMATHESIS")
	if program == "" {
		t.Skip("ORCH_TEST_SCHEMATHESIS names no program")
	}
	programs, err := e2e.Build(t.TempDir(), "orch")
	require.NoError(t, err)
	server := e2e.StartSingle(t, programs, t.TempDir())
	hooks, err := filepath.Abs("testdata")
	require.NoError(t, err)

	for name, flags := range map[string][]string{
		"requests": {"--phases", "examples,coverage,fuzzing"},
		// Without a time limit it ends after a few sequences, independent of the number of examples.
		"sequences": {"--phases", "stateful", "--max-time", "40"},
	} {
		t.Run(name, func(t *testing.T) { ask(t, program, server.API(), hooks, flags) })
	}
}

// ask runs schemathesis against the server.
func ask(t *testing.T, program, api, hooks string, flags []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	run := exec.CommandContext(ctx, program, append([]string{
		"--no-color", "run", api + "/openapi.json",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance," +
			"response_schema_conformance,negative_data_rejection,missing_required_header,use_after_free,described_status",
		"--max-examples", cmp.Or(os.Getenv("ORCH_TEST_EXAMPLES"), "10"),
		"--seed", cmp.Or(os.Getenv("ORCH_TEST_SEED"), "1"),
		"--workers", "2", "--continue-on-failure", "--no-shrink", "--warnings", "off",
		"--generation-database", "none", "--output-sanitize", "false", "--request-timeout", "60",
	}, flags...)...)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "PYTHONPATH="+hooks, "PYTHONDONTWRITEBYTECODE=1", "SCHEMATHESIS_HOOKS=hooks", "ORCH_TEST_API="+api)
	report, err := run.CombinedOutput()
	for _, line := range figures.FindAllString(string(report), -1) {
		t.Log(line)
	}
	require.NoError(t, err, "%s", report)
}
