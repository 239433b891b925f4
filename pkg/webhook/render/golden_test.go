package render_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var update = flag.Bool("update", false, "write what is rendered into the golden files")

// zeros is a deterministic source for ids.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// at is the time of all requests of these tests.
var at = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// newEngine returns an engine with deterministic ids and times.
func newEngine(vocab vocabulary.Vocabulary) *render.Engine {
	return render.New(render.Options{Vocabulary: vocab, IDs: id.New(clock.NewManual(at), zeros{})})
}

var hook = &orchv1.WebhookDefinition{
	Id: "01890000-0000-7000-8000-00000000000c", Workspace: "01890000-0000-7000-8000-00000000000b", Name: "a hook",
}

// readRequest parses a request of a golden file: lines end in LF, and the body may have any length. Within the body,
// \xNN is a byte.
func readRequest(tb testing.TB, text []byte) *receive.Request {
	tb.Helper()
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	body = bytes.TrimSuffix(body, []byte("\n"))
	if bytes.Contains(body, []byte(`\x`)) {
		unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(string(body), `"`, `\"`), "\n", `\n`) + `"`)
		require.NoError(tb, err)
		body = []byte(unquoted)
	}
	raw := strings.TrimSuffix(string(head), "\n") + "\nContent-Length: " + strconv.Itoa(len(body)) + "\n\n"
	raw = strings.ReplaceAll(raw, "\n", "\r\n") + string(body)
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	require.NoError(tb, err)
	r.Header.Del("Content-Length")
	request := receive.New(r, "Canary_slug-0123456789", "", at)
	require.NoError(tb, request.ReadBody(r, 5<<20, nil))
	return request
}

// process processes a request as the hooks service does, up to the broker.
func process(tb testing.TB, e *render.Engine, template string, r *receive.Request) (*orchv1.ReceivedEvent, error) {
	tb.Helper()
	body := r.Body()
	text, err := e.Render(tb.Context(), template, render.NewVariables(r, body))
	if err != nil {
		return nil, err
	}
	list, err := e.Events(text, hook, r, body, uuid.Nil)
	if err != nil {
		return nil, err
	}
	require.Len(tb, list, 1)
	return list[0], nil
}

// TestGolden renders the request with the template of each file, and compares the event or the error.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string][]byte{}
			for _, f := range archive.Files {
				parts[f.Name] = f.Data
			}
			vocab := vocabulary.Orch
			if bytes.Contains(archive.Comment, []byte("vocabulary: prefect")) {
				vocab = vocabulary.Prefect
			}
			template := strings.TrimSuffix(string(parts["template"]), "\n")
			name, got := "event", new(bytes.Buffer)
			if event, err := process(t, newEngine(vocab), template, readRequest(t, parts["request"])); err != nil {
				name = "error"
				got.WriteString(err.Error())
			} else {
				text, err := restjson.Marshal(event)
				require.NoError(t, err)
				require.NoError(t, json.Indent(got, text, "", "  "))
			}
			got.WriteByte('\n')
			if *update {
				archive.Files = append(archive.Files[:2], txtar.File{Name: name, Data: got.Bytes()})
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			require.Equal(t, string(parts[name]), got.String())
		})
	}
}
