//go:build e2e && python

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest/mongod"
	"github.com/orch-project/orch/test/bench/beside"
)

var (
	importRuns   = flag.Int("import.runs", 50_000, "flow runs of the Prefect databases that TestImportPrefect imports")
	importWithin = flag.Duration("import.within", time.Minute, "the bound of one import into a directory, on two cores that are otherwise idle")
)

// TestImportPrefect imports databases that the Python server made, on SQLite and on PostgreSQL, into a data directory and into a MongoDB
// server. It kills an import in the middle and continues it, and compares the responses of both servers field by field on a sample. It
// prints how long an import takes, and fails if an import into a directory takes longer than its bound.
func TestImportPrefect(t *testing.T) {
	environment := os.Getenv("ORCH_TEST_PREFECT")
	if environment == "" {
		t.Skip("ORCH_TEST_PREFECT names no environment with the Python server")
	}
	program, err := mongod.Find()
	if !errors.Is(err, mongod.ErrMissing) {
		require.NoError(t, err)
	}
	t.Run("sqlite", func(t *testing.T) {
		i := &prefectImport{t: t, environment: environment, home: t.TempDir(), mongod: program}
		path := filepath.Join(i.home, "prefect.db")
		i.database, i.driver = "sqlite:///"+path, "sqlite+aiosqlite:///"+path
		i.verify()
	})
	t.Run("postgresql", func(t *testing.T) {
		url, stop, err := beside.StartPostgres()
		if errors.Is(err, beside.ErrNoPostgres) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stop()) })
		i := &prefectImport{t: t, environment: environment, home: t.TempDir(), mongod: program, database: url}
		i.driver = strings.Replace(url, "postgresql:", "postgresql+asyncpg:", 1)
		i.verify()
	})
}

// prefectImport is an import of one database.
type prefectImport struct {
	t                 *testing.T
	environment, home string
	mongod            string // The program of a MongoDB server; empty without one.
	database          string // As `orch import prefect` takes it.
	driver            string // As the Python server takes it.
	reference, ours   string
}

func (i *prefectImport) verify() {
	i.python(filepath.Join(i.environment, "bin", "python"),
		filepath.Join("..", "..", "services", "standalone", "internal", "prefectdb", "testdata", "generate.py"), i.driver, fmt.Sprint(*importRuns))

	targets := []importTarget{i.directory("whole"), i.directory("killed")}
	if i.mongod != "" {
		targets = append(targets, i.mongoDB())
	}
	for _, target := range targets {
		if target.name == "killed" {
			i.kill(target)
		}
		began := time.Now()
		report, cpu := i.orch(target)
		took := time.Since(began)
		i.t.Logf("%s: %d flow runs: %s, %s of processor time\n%s",
			target.name, *importRuns, took.Round(100*time.Millisecond), cpu.Round(100*time.Millisecond), report)
		if target.name == "whole" && took > *importWithin {
			i.t.Errorf("an import of %d flow runs took %s, and its bound is %s", *importRuns, took.Round(100*time.Millisecond), *importWithin)
		}
		require.NotContains(i.t, report, "refused:")
	}

	i.startReference()
	for _, target := range targets {
		server := target.start()
		i.ours = server.API()
		for _, q := range i.questions() {
			i.compare(target.name, q)
		}
		server.Stop(i.t)
	}
}

// importTarget is where an import stores the data.
type importTarget struct {
	name string
	// flags and env are for `orch import prefect`.
	flags, env []string
	// start starts a server with the data.
	start func() *Orch
}

// directory is a new data directory of the single binary.
func (i *prefectImport) directory(name string) importTarget {
	dir := filepath.Join(i.home, name)
	return importTarget{
		name: name, flags: []string{"--data-dir", dir},
		start: func() *Orch { return StartSingle(i.t, programs, dir) },
	}
}

// mongoDB is a new MongoDB server for the three services.
func (i *prefectImport) mongoDB() importTarget {
	dir, err := mongod.TempDir()
	require.NoError(i.t, err)
	i.t.Cleanup(func() { require.NoError(i.t, os.RemoveAll(dir)) })
	store, err := mongod.Start(i.t.Context(), i.mongod, dir)
	require.NoError(i.t, err)
	i.t.Cleanup(store.Stop)
	infra := StartInfra(i.t, programs, filepath.Join(i.home, "infra"))
	return importTarget{
		name: "mongodb", flags: []string{"--to", store.URI},
		env: []string{"ORCH_SECRETS_KEY_FILE=" + filepath.Join(infra.dataDir, "secrets.key")},
		start: func() *Orch {
			return StartServices(i.t, programs, infra, "ORCH_MONGODB_URI="+store.URI, "ORCH_VOCABULARY=prefect")
		},
	}
}

// kill starts an import and ends it in the middle by SIGKILL.
func (i *prefectImport) kill(target importTarget) {
	p := Start(i.t, "orch import", target.env, programs.Path("orch"), i.command(target)...)
	ctx, cancel := context.WithTimeout(i.t.Context(), 10*time.Minute)
	defer cancel()
	_, err := p.LineWith(ctx, "task runs")
	require.NoError(i.t, err)
	p.Kill()
}

// command are the arguments of an import.
func (i *prefectImport) command(target importTarget) []string {
	return append([]string{"import", "prefect", "--from", i.database}, target.flags...)
}

// python runs a program of the environment.
func (i *prefectImport) python(program string, args ...string) {
	cmd := exec.CommandContext(i.t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "PREFECT_HOME="+i.home, "DO_NOT_TRACK=1")
	out, err := cmd.CombinedOutput()
	require.NoError(i.t, err, string(out))
}

// orch runs an import to its end.
func (i *prefectImport) orch(target importTarget) (report string, cpu time.Duration) {
	cmd := exec.CommandContext(i.t.Context(), programs.Path("orch"), i.command(target)...)
	cmd.Env = append(os.Environ(), target.env...)
	var out, progress bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &progress
	require.NoError(i.t, cmd.Run(), "%s%s", out.String(), progress.String())
	return out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// startReference starts the Python server on the database, without the services that change it.
func (i *prefectImport) startReference() {
	host, port, _ := strings.Cut(FreeAddress(i.t), ":")
	p := Start(i.t, "prefect server", []string{
		"PREFECT_HOME=" + i.home, "PREFECT_API_DATABASE_CONNECTION_URL=" + i.driver, "PREFECT_SERVER_UI_ENABLED=false",
		"PREFECT_SERVER_ANALYTICS_ENABLED=false", "DO_NOT_TRACK=1",
	}, filepath.Join(i.environment, "bin", "prefect"), "server", "start", "--no-services", "--host", host, "--port", port)
	i.t.Cleanup(p.Kill)
	i.reference = "http://" + host + ":" + port + "/api"
	require.Eventually(i.t, func() bool {
		r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, i.reference+"/health", nil)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(r)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 5*time.Minute, 100*time.Millisecond)
}

// question is a request whose responses must be equal.
type question struct {
	// method is POST if it is empty, and the body an empty object.
	method, path, body string
	// except are members that differ, by their names at any depth.
	except []string
	// more says that Orch has further resources of its own.
	more bool
}

// questions asks for everything that a server has few of, and for a sample of runs that have ended with all that belongs to them.
func (i *prefectImport) questions() []question {
	var names []string
	for n := 0; n < *importRuns; n += max(1, *importRuns/100) {
		for _, ended := range []int{0, 1, 3, 9} { // See HISTORIES in generate.py.
			if run := n - n%10 + ended; run < *importRuns {
				names = append(names, fmt.Sprintf("run-%d", run))
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	names = names[:min(len(names), 200)]
	list, err := json.Marshal(names)
	require.NoError(i.t, err)
	all := []question{
		{path: "/flows/filter"},
		// The scheduler goes on with them.
		{path: "/deployments/filter", except: []string{"updated"}},
		{path: "/work_pools/filter", except: []string{"status", "updated"}},
		{path: "/work_pools/pool/queues/filter", except: []string{"status", "updated"}},
		{path: "/variables/filter"},
		{path: "/saved_searches/filter"},
		{path: "/concurrency_limits/filter", body: `{"limit": 100}`},
		// Limits of tags are among them.
		{path: "/v2/concurrency_limits/filter", more: true},
		// The start of the Python server touches its own types, and Orch has a schema of its own.
		{path: "/block_types/filter", except: []string{"updated"}},
		{path: "/block_schemas/filter", except: []string{"updated"}, more: true},
		{path: "/block_documents/filter", body: `{"include_secrets": true}`, except: []string{"updated"}},
		// Triggers have new ids, and the action run-deployment has further members.
		{path: "/automations/filter", except: []string{"id", "debounce", "batch", "singleton"}},
		{path: "/artifacts/latest/filter"},
		{path: "/flow_runs/filter", body: `{"sort": "NAME_ASC", "flow_runs": {"name": {"any_": ` + string(list) + `}}}`},
	}
	var runs []struct{ ID string }
	require.NoError(i.t, json.Unmarshal(i.ask(i.reference, all[len(all)-1]), &runs))
	require.Len(i.t, runs, len(names))
	for _, run := range runs[:min(len(runs), 30)] {
		filter := `{"flow_runs": {"id": {"any_": ["` + run.ID + `"]}}}`
		tasks := question{path: "/task_runs/filter", body: filter}
		all = append(all,
			tasks,
			question{method: http.MethodGet, path: "/flow_run_states/?flow_run_id=" + run.ID},
			question{path: "/artifacts/filter", body: filter},
			question{path: "/logs/filter", body: `{"logs": {"flow_run_id": {"any_": ["` + run.ID + `"]}}}`},
			question{path: "/events/filter", body: `{"filter": {"any_resource": {"id": ["prefect.flow-run.` + run.ID + `"]}}}`},
		)
		var found []struct{ ID string }
		require.NoError(i.t, json.Unmarshal(i.ask(i.reference, tasks), &found))
		for _, task := range found {
			all = append(all, question{method: http.MethodGet, path: "/task_run_states/?task_run_id=" + task.ID})
		}
	}
	return all
}

func (i *prefectImport) ask(server string, q question) []byte {
	if q.method == "" {
		q.method, q.body = http.MethodPost, cmp.Or(q.body, "{}")
	}
	r, err := http.NewRequestWithContext(i.t.Context(), q.method, server+q.path, strings.NewReader(q.body))
	require.NoError(i.t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(i.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	require.Equal(i.t, http.StatusOK, response.StatusCode, "%s %s: %s", server, q.path, body)
	return body
}

// compare asks both servers. Lists of resources have the order of their ids.
func (i *prefectImport) compare(name string, q question) {
	var answers [2]any
	for n, server := range []string{i.reference, i.ours} {
		require.NoError(i.t, json.Unmarshal(i.ask(server, q), &answers[n]))
	}
	if theirs, ok := answers[0].([]any); ok && q.more {
		ours, _ := answers[1].([]any)
		answers[1] = slices.DeleteFunc(ours, func(v any) bool {
			return !slices.ContainsFunc(theirs, func(other any) bool { return idOf(other) == idOf(v) })
		})
	}
	answers[0], answers[1] = plain(answers[0], q.except), plain(answers[1], q.except)
	require.Equal(i.t, answers[0], answers[1], "%s: %s %s", name, q.path, q.body)
}

// plain removes members, and sorts lists of resources.
func plain(v any, except []string) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, _ any) bool { return slices.Contains(except, key) })
		for key := range v {
			v[key] = plain(v[key], except)
		}
	case []any:
		slices.SortStableFunc(v, func(a, b any) int { return cmp.Compare(idOf(a), idOf(b)) })
		for n := range v {
			v[n] = plain(v[n], except)
		}
	}
	return v
}

// idOf is the id of a resource, or the type that a block schema refers to: the Python server has no order of a field's types.
func idOf(v any) string {
	resource, _ := v.(map[string]any)
	id, _ := resource["id"].(string)
	slug, _ := resource["block_type_slug"].(string)
	return cmp.Or(id, slug)
}
