package cli_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportPrefectReport prints the report of an import, and of the same import again.
func TestImportPrefectReport(t *testing.T) {
	packed, err := os.Open(filepath.Join("..", "..", "testdata", "prefect", "3.0.db.gz"))
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	path, dir := file(t, "prefect.db", string(text)), t.TempDir()
	t.Setenv("ORCH_EVENTS_RETENTION", "0")

	var log strings.Builder
	for range 2 {
		out, err := orch(t, "", "import", "prefect", "--from", "sqlite:///"+path, "--data-dir", dir)
		require.NoError(t, err, out)
		log.WriteString(out)
	}
	_, err = orch(t, "", "import", "prefect", "--from", "mysql://db", "--data-dir", dir)
	log.WriteString("orch: " + err.Error() + "\n")
	shown := regexp.MustCompile(`(\r[^\r\n]*)+\n?`).ReplaceAllString(log.String(), "") // The progress.
	golden := filepath.Join("testdata", "import_prefect.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(shown), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), shown)
}
