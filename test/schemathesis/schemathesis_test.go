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

// figures are the lines of the report that say how much was asked.
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

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	run := exec.CommandContext(ctx, program, "--no-color", "run", server.API()+"/openapi.json",
		"--phases", "examples,coverage,fuzzing,stateful",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"+
			"response_schema_conformance,negative_data_rejection,missing_required_header,use_after_free,described_status",
		"--max-examples", cmp.Or(os.Getenv("ORCH_TEST_EXAMPLES"), "10"),
		"--seed", cmp.Or(os.Getenv("ORCH_TEST_SEED"), "1"),
		"--workers", "2", "--continue-on-failure", "--no-shrink", "--warnings", "off",
		"--generation-database", "none", "--output-sanitize", "false", "--request-timeout", "60",
	)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "PYTHONPATH="+hooks, "PYTHONDONTWRITEBYTECODE=1", "SCHEMATHESIS_HOOKS=hooks", "ORCH_TEST_API="+server.API())
	report, err := run.CombinedOutput()
	for _, line := range figures.FindAllString(string(report), -1) {
		t.Log(line)
	}
	require.NoError(t, err, "%s", report)
}
