package standalone_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// server is a running server and its API's address.
type server struct {
	t    *testing.T
	http *http.Client
	api  string
	root string
	stop func()
}

// start runs a server on a directory until the test ends, with the vocabulary orch. Settings are "NAME=value".
func start(t *testing.T, dir string, settings ...string) *server {
	t.Helper()
	env := map[string]string{
		"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "127.0.0.1:0", "ORCH_VOCABULARY": "orch",
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	cfg, err := config.LoadFrom[standalone.Config](env)
	require.NoError(t, err)
	s, err := standalone.New(t.Context(), cfg, "test", quiet)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	transport := &http.Transport{}
	out := &server{t: t, http: &http.Client{Transport: transport}, root: "http://" + s.Addr().String()}
	out.api = out.root + "/api"
	stopped := false
	out.stop = func() {
		if !stopped {
			stopped = true
			transport.CloseIdleConnections()
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(out.stop)
	require.Eventually(t, func() bool { return out.ask(http.MethodGet, "/ready", "", nil) == http.StatusOK }, time.Minute, time.Millisecond)
	return out
}

func (s *server) ask(method, path, body string, out any) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	if out != nil {
		require.NoError(s.t, json.Unmarshal(text, out), string(text))
	}
	return response.StatusCode
}

func (s *server) events() int64 {
	var page struct{ Total int64 }
	require.Equal(s.t, 200, s.ask(http.MethodPost, "/events/filter", `{"filter": {"event": {"name": ["pushed"]}}}`, &page))
	return page.Total
}

// fill makes a webhook and posts to it n times.
func (s *server) fill(n int) {
	s.t.Helper()
	var hook struct{ URL string }
	require.Equal(s.t, 201, s.ask(http.MethodPost, "/webhooks/", `{"name": "gh", "template": "{\"event\": \"pushed\", \"resource\": {\"orch.resource.id\": \"x\"}}"}`, &hook))
	for range n {
		s.post(hook.URL)
	}
}

func (s *server) post(url string) {
	s.t.Helper()
	response, err := s.http.Post(url, "application/json", strings.NewReader("{}"))
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Equal(s.t, http.StatusNoContent, response.StatusCode)
}

func TestBackupOfARunningServerHoldsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	dir, backup, restored := t.TempDir(), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "r")
	s := start(t, dir)
	s.fill(200)
	require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet))
	require.ErrorContains(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet), "not empty")
	s.fill(1)
	require.Error(t, standalone.Backup(t.Context(), dir, backup+"x", standalone.BackupOptions{Base: t.TempDir()}, quiet), "no backup")
	require.NoError(t, standalone.Backup(t.Context(), dir, backup+"2", standalone.BackupOptions{Base: backup}, quiet))
	require.NoError(t, standalone.Restore(t.Context(), backup+"2", restored+"2"))
	require.Equal(t, int64(201), start(t, restored+"2").events())

	require.NoError(t, standalone.Restore(t.Context(), backup, restored))
	require.ErrorContains(t, standalone.Restore(t.Context(), backup, restored), "not empty")
	report, err := standalone.Check(t.Context(), restored)
	require.NoError(t, err)
	require.True(t, report.OK(), "%+v", report)

	again := start(t, restored)
	require.Equal(t, int64(200), again.events())
	var hooks []struct{ URL string }
	require.Equal(t, 200, again.ask(http.MethodPost, "/webhooks/filter", "", &hooks))
	again.post(hooks[0].URL) // The definition bucket was made again.
}

func TestBackupWithoutAServerWaitsForWhatIsInTheStreams(t *testing.T) {
	t.Parallel()
	dir, backup := t.TempDir(), filepath.Join(t.TempDir(), "b")
	s := start(t, dir)
	s.fill(50)
	s.stop()
	require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet))
	restored := filepath.Join(t.TempDir(), "r")
	require.NoError(t, standalone.Restore(t.Context(), backup, restored))
	require.Equal(t, int64(50), start(t, restored).events())
}

// TestBackupsAreNotOpened: a server and the commands of operators refuse a backup and leave it as it is.
func TestBackupsAreNotOpened(t *testing.T) {
	t.Parallel()
	dir, backup := t.TempDir(), filepath.Join(t.TempDir(), "b")
	s := start(t, dir)
	s.fill(5)
	require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet))
	before := filesOf(t, backup)
	for name, open := range map[string]func() error{
		"server": func() error {
			cfg, err := config.LoadFrom[standalone.Config](map[string]string{"ORCH_DATA_DIR": backup, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0"})
			require.NoError(t, err)
			_, err = standalone.New(t.Context(), cfg, "test", quiet)
			return err
		},
		"infra": func() error {
			_, err := standalone.NewInfra(standalone.InfraConfig{DataDir: backup, MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0"}, quiet)
			return err
		},
		"upgrade --check": func() error { return standalone.CheckUpgrade(t.Context(), "test", backup, io.Discard, quiet) },
		"export":          func() error { return standalone.Export(t.Context(), backup, mongo(t), "orch", nil, quiet) },
		"backup": func() error {
			return standalone.Backup(t.Context(), backup, filepath.Join(t.TempDir(), "c"), standalone.BackupOptions{}, quiet)
		},
		"vocabulary convert": func() error {
			return standalone.ConvertVocabulary(t.Context(), backup, orchestration.Conversion{To: vocabulary.Prefect}, quiet)
		},
	} {
		require.ErrorContains(t, open(), "orch restore", name)
		require.Equal(t, before, filesOf(t, backup), name)
	}
	_, err := standalone.Check(t.Context(), backup)
	require.NoError(t, err, "orch doctor reads backups")
	restored := filepath.Join(t.TempDir(), "r")
	require.NoError(t, standalone.Restore(t.Context(), backup, restored))
	require.Equal(t, int64(5), start(t, restored).events())
	var plan strings.Builder
	require.NoError(t, standalone.CheckUpgrade(t.Context(), "next", restoredCopy(t, backup), &plan, quiet))
	require.Equal(t, "this version: next\nlast version: test\nformat 2: nothing to migrate\n", plan.String())
}

// restoredCopy returns a data directory from a backup that no server has used.
func restoredCopy(t *testing.T, backup string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, standalone.Restore(t.Context(), backup, dir))
	return dir
}

// filesOf returns the files below a directory with their contents.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

func TestBackupOfNothing(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, standalone.Backup(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "b"), standalone.BackupOptions{}, quiet), "neither a data directory nor a backup")
}

// mongo is an embedded server on TCP that stands for a MongoDB server.
func mongo(t *testing.T) string {
	t.Helper()
	m, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- m.Serve(ctx, ln, embeddedmongo.Access{}) }()
	t.Cleanup(func() {
		cancel()
		<-done
		require.NoError(t, m.Close())
	})
	return fmt.Sprintf("mongodb://%s/?directConnection=true", ln.Addr())
}

func TestExportAndImportKeepEverything(t *testing.T) {
	t.Parallel()
	dir, uri, imported := t.TempDir(), mongo(t), filepath.Join(t.TempDir(), "i")
	s := start(t, dir)
	s.fill(20)
	s.stop()
	copied := map[string]int64{}
	progress := func(collection string, done, _ int64) { copied[collection] = done }
	require.NoError(t, standalone.Export(t.Context(), dir, uri, "orch", progress, quiet))
	require.GreaterOrEqual(t, copied["event"], int64(20))
	require.ErrorContains(t, standalone.Export(t.Context(), dir, uri, "orch", progress, quiet), "not empty")

	require.NoError(t, standalone.Import(t.Context(), uri, "orch", imported, progress, quiet))
	report, err := standalone.Check(t.Context(), imported)
	require.NoError(t, err)
	require.True(t, report.OK(), "%+v", report)
	again := start(t, imported)
	require.Equal(t, int64(20), again.events())
}

func TestAnotherVocabularyIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir).stop()
	cfg, err := config.LoadFrom[standalone.Config](map[string]string{"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0"})
	require.NoError(t, err)
	cfg.Gateway.Vocabulary = vocabulary.Prefect
	_, err = standalone.New(t.Context(), cfg, "test", quiet)
	require.ErrorContains(t, err, "--vocabulary orch")
}

func TestASecondServerOnTheDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir)
	cfg, err := config.LoadFrom[standalone.Config](map[string]string{"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0"})
	require.NoError(t, err)
	_, err = standalone.New(t.Context(), cfg, "test", quiet)
	require.Error(t, err)
}
