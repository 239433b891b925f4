package standalone_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
	"github.com/orch-project/orch/services/standalone/internal/prefectdb"
)

// prefectDatabase unpacks the database that a version of Prefect made with internal/prefectdb/testdata/generate.py, with 40 runs. The
// statements change it.
func prefectDatabase(t *testing.T, version string, statements ...string) (path string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "prefect", version+".db.gz"))
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "prefect.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	// Events are stored for a week after their reception.
	for _, statement := range append(statements, "UPDATE events SET received = strftime('%Y-%m-%d %H:%M:%f', 'now')") {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	return path
}

// importPrefect imports a database, and returns the report.
func importPrefect(ctx context.Context, path, dir string, progress standalone.Progress) (string, error) {
	var out strings.Builder
	err := standalone.ImportPrefect(ctx, dir, standalone.PrefectImport{From: "sqlite:///" + path, Out: &out, Progress: progress}, quiet)
	return out.String(), err
}

func noProgress(string, int64, int64) {}

// figures are the numbers of a kind's line in a report: read, stored, existing, refused.
func figures(t *testing.T, report, kind string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ *(\d+) +(\d+) +(\d+) +(\d+) +` + kind + `$`).FindStringSubmatch(report)
	require.NotNil(t, found, "%s in\n%s", kind, report)
	return found[1:]
}

// TestImportPrefect: everything of a server is there afterwards, with its history; a second import changes nothing.
func TestImportPrefect(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.0", "3.9"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path, dir := prefectDatabase(t, version), t.TempDir()
			report, err := importPrefect(t.Context(), path, dir, noProgress)
			require.NoError(t, err, report)
			require.NotContains(t, report, "refused:")
			for kind, rows := range map[string]string{
				"flows": "20", "deployments": "20", "flow runs": "40", "flow run states": "104", "task runs": "40", "task run states": "104",
				"logs": "40", "events": "40", "artifacts": "40", "variables": "4", "automations": "2", "work pools": "1", "work queues": "2",
			} {
				require.Equal(t, []string{rows, rows, "0", "0"}, figures(t, report, kind), kind)
			}
			again, err := importPrefect(t.Context(), path, dir, noProgress)
			require.NoError(t, err)
			require.Equal(t, []string{"40", "0", "40", "0"}, figures(t, again, "flow runs"))
			require.Equal(t, []string{"40", "0", "40", "0"}, figures(t, again, "events"))

			s := start(t, dir, "ORCH_VOCABULARY", "prefect")
			filters := map[string]string{"flow_runs": `{"flow_runs": {"name": {"like_": "run-"}}}`} // Without those of the scheduler.
			for kind, count := range map[string]int{"flows": 20, "flow_runs": 40, "task_runs": 40, "deployments": 20, "variables": 4} {
				var n int
				require.Equal(t, 200, s.ask(http.MethodPost, "/"+kind+"/count", cmp.Or(filters[kind], "{}"), &n), kind)
				require.Equal(t, count, n, kind)
			}
			var documents []struct {
				Name string
				Data map[string]any
			}
			require.Equal(t, 200, s.ask(http.MethodPost, "/block_documents/filter", `{"include_secrets": true}`, &documents))
			data := map[string]map[string]any{}
			for _, d := range documents {
				data[d.Name] = d.Data
			}
			require.Equal(t, "horse battery Ä", data["password"]["value"])
			require.Equal(t, map[string]any{"token": "t0ken"}, data["the-outer"]["inner"])

			var runs []struct {
				ID    string
				State struct{ Type, Timestamp string }
			}
			require.Equal(t, 200, s.ask(http.MethodPost, "/flow_runs/filter", `{"flow_runs": {"name": {"any_": ["run-0"]}}}`, &runs))
			require.Len(t, runs, 1)
			require.Equal(t, "COMPLETED", runs[0].State.Type)
			var states []struct{ Type string }
			require.Equal(t, 200, s.ask(http.MethodGet, "/flow_run_states/?flow_run_id="+runs[0].ID, "", &states))
			require.Len(t, states, 4)
			require.Equal(t, "SCHEDULED", states[0].Type)

			// The run goes on, and its history with it.
			require.Equal(t, 201, s.ask(http.MethodPost, "/flow_runs/"+runs[0].ID+"/set_state", `{"state": {"type": "RUNNING"}, "force": true}`, nil))
			require.Equal(t, 200, s.ask(http.MethodGet, "/flow_run_states/?flow_run_id="+runs[0].ID, "", &states))
			require.Len(t, states, 5)
		})
	}
}

// TestImportPrefectContinues: an import that is interrupted is continued by the next, and the result is that of one import.
func TestImportPrefectContinues(t *testing.T) {
	t.Parallel()
	path := prefectDatabase(t, "3.9")
	for _, kind := range []string{"flows", "deployments", "flow runs", "task run states", "events"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, interrupt := context.WithCancel(t.Context())
			_, err := importPrefect(ctx, path, dir, func(at string, _, _ int64) {
				if at == kind {
					interrupt()
				}
			})
			require.ErrorIs(t, err, context.Canceled)
			report, err := importPrefect(t.Context(), path, dir, noProgress)
			require.NoError(t, err, report)
			require.NotContains(t, report, "refused:")
			last, err := importPrefect(t.Context(), path, dir, noProgress)
			require.NoError(t, err, last)
			require.Equal(t, []string{"104", "0", "104", "0"}, figures(t, last, "flow run states"))
		})
	}
}

// TestImportPrefectRefuses: a database that cannot be imported leaves no data directory, or an existing one as it is.
func TestImportPrefectRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		statements []string
		want       error
	}{
		"a database of Prefect 2":    {[]string{"UPDATE alembic_version SET version_num = '20fbd53b3cef'"}, prefectdb.ErrTooOld},
		"a newer schema":             {[]string{"UPDATE alembic_version SET version_num = 'ffffffffffff'"}, prefectdb.ErrTooNew},
		"another program's database": {[]string{"DROP TABLE alembic_version"}, prefectdb.ErrNotPrefect},
		"another key": {[]string{
			`UPDATE configuration SET value = '{"fernet_key": "` + strings.Repeat("A", 43) + `="}' WHERE key = 'ENCRYPTION_KEY'`,
		}, prefectdb.ErrKey},
		"no key": {[]string{"DELETE FROM configuration WHERE key = 'ENCRYPTION_KEY'"}, prefectdb.ErrKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			_, err := importPrefect(t.Context(), prefectDatabase(t, "3.9", row.statements...), dir, noProgress)
			require.ErrorIs(t, err, row.want)
			_, err = os.Stat(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
	t.Run("an address of another kind", func(t *testing.T) {
		t.Parallel()
		for _, address := range []string{"", "mysql://localhost/x", "/srv/prefect.db", "sqlite://prefect.db", "sqlite:///"} {
			err := standalone.ImportPrefect(t.Context(), filepath.Join(t.TempDir(), "data"), standalone.PrefectImport{From: address, Out: io.Discard, Progress: noProgress}, quiet)
			require.Error(t, err, address)
		}
	})
	t.Run("a directory of the vocabulary orch", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		start(t, dir).stop()
		_, err := importPrefect(t.Context(), prefectDatabase(t, "3.9"), dir, noProgress)
		require.ErrorIs(t, err, datadir.ErrFormat)
	})
	t.Run("a directory that a server uses", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		start(t, dir, "ORCH_VOCABULARY", "prefect")
		_, err := importPrefect(t.Context(), prefectDatabase(t, "3.9"), dir, noProgress)
		require.Error(t, err)
	})
}

// TestImportPrefectNamesRowsThatBreakRules: they are left out with what belongs to them, and everything else is imported.
func TestImportPrefectNamesRowsThatBreakRules(t *testing.T) {
	t.Parallel()
	path := prefectDatabase(t, "3.9",
		"UPDATE flow SET name = 'a/b' WHERE name = 'flow-1'",
		"UPDATE flow_run SET parameters = '{\"x\": NaN}' WHERE name = 'run-2'",
		"UPDATE variable SET tags = '{}' WHERE name = 'v1'",
		"UPDATE log SET timestamp = 'yesterday' WHERE message LIKE 'line 3%' AND task_run_id IS NOT NULL",
		"UPDATE work_pool SET name = 'x<y'",
		`UPDATE block_document SET data = '"gAAAAA"' WHERE name = 'password'`,
		"UPDATE events SET event = '' WHERE json_extract(payload, '$.n') = 5",
		"UPDATE automation SET trigger = '{\"type\": \"moon\"}' WHERE name = 'automation-1'",
		"INSERT INTO task_run_state_cache (id, cache_key, task_run_state_id) VALUES ('11111111-1111-4111-8111-111111111111', 'k', '11111111-1111-4111-8111-111111111112')",
		"UPDATE deployment_schedule SET schedule = '{}' WHERE deployment_id = (SELECT id FROM deployment WHERE name = 'deployment-2')",
		"CREATE TABLE plugin (x)", "INSERT INTO plugin VALUES (1)",
	)
	report, err := importPrefect(t.Context(), path, t.TempDir(), noProgress)
	require.NoError(t, err, report)
	for _, line := range []string{
		`refused: flows: a/b \(.*\): .*name`,
		`refused: flow runs: run-2 \(.*\)`, `refused: flow runs: run-1 \(.*\): it belongs to a resource that was refused`,
		`refused: task runs: task-2 \(.*\): it belongs to`, `refused: flow run states: .*: it belongs to`,
		`refused: variables: v1 \(.*\): .*tags`, `refused: logs: .*timestamp`, `refused: work pools: x<y \(.*\): .*name`,
		`refused: work queues: urgent \(.*\): it belongs to`, `refused: block documents: password \(.*\): the encryption key does not decrypt it`,
		`refused: deployments: deployment-2 \(.*\): schedule .*`,
		`refused: events: .*event`, `refused: automations: automation-1 \(.*\): .*trigger`,
		`no place: 1 rows of task_run_state_cache: .*`, `no place: 1 rows of plugin: .*`,
	} {
		require.Regexp(t, line, report)
	}
	require.NotContains(t, report, "horse")
	require.Equal(t, []string{"40", "37", "0", "3"}, figures(t, report, "flow runs")) // Two of the flow, and one of its own.
	require.Equal(t, []string{"20", "19", "0", "1"}, figures(t, report, "flows"))
}
