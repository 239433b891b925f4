package standalone_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/tracing"
)

var update = flag.Bool("update", false, "write the golden files")

// spanTree merges the spans of a trace by their names: siblings of one name are one node.
type spanTree map[string]spanTree

func (t spanTree) print(b *strings.Builder, indent string) {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(b, "%s%s\n", indent, name)
		t[name].print(b, indent+"  ")
	}
}

// spansOf reads the spans of one trace from a trace file.
func spansOf(t *testing.T, path, trace string) []tracing.Line {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var spans []tracing.Line
	for line := range bytes.Lines(text) {
		var span tracing.Line
		if json.Unmarshal(line, &span) == nil && span.TraceID == trace { // The last line may be half written.
			spans = append(spans, span)
		}
	}
	return spans
}

// isCommand reports whether a span is a command of the store. The commands that run depend on caches.
func isCommand(span tracing.Line) bool { return span.Attributes["db.system.name"] != nil }

// treeOf renders the spans below a remote parent. A span whose parent has not ended is left out.
func treeOf(spans []tracing.Line, parent string) string {
	children := map[string][]tracing.Line{}
	for _, span := range spans {
		if !isCommand(span) {
			children[span.ParentID] = append(children[span.ParentID], span)
		}
	}
	var grow func(into spanTree, parent string)
	grow = func(into spanTree, parent string) {
		for _, span := range children[parent] {
			name := span.Component + ": " + span.Name
			if into[name] == nil {
				into[name] = spanTree{}
			}
			grow(into[name], span.SpanID)
		}
	}
	root := spanTree{}
	grow(root, parent)
	var b strings.Builder
	root.print(&b, "")
	return b.String()
}

// One webhook is followed from the sender's span through all services to the flow run that an automation starts.
func TestTraceOfAWebhook(t *testing.T) {
	t.Parallel()
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	s := start(t, t.TempDir(), "ORCH_TRACE_FILE="+file)
	type created struct{ ID, URL string }
	create := func(path, body string) (c created) {
		require.Contains(t, []int{200, 201}, s.ask(http.MethodPost, path, body, &c), path)
		return c
	}
	hook := create("/webhooks/", `{"name":"push","template":"{\"event\":\"pushed\",\"resource\":{\"orch.resource.id\":\"repo\"}}"}`)
	flow := create("/flows/", `{"name":"ship"}`)
	deployment := create("/deployments/", fmt.Sprintf(`{"name":"ship","flow_id":%q}`, flow.ID))
	create("/automations/", fmt.Sprintf(`{"name":"ship on push","trigger":{"type":"event","posture":"Reactive","expect":["pushed"]},
		"actions":[{"type":"run-deployment","deployment_id":%q,"source":"selected"}]}`, deployment.ID))

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hook.URL, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	response, err := s.http.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNoContent, response.StatusCode)

	golden := filepath.Join("testdata", "trace.txt")
	if *update {
		writeStable(t, golden, func() string { return treeOf(spansOf(t, file, trace), parent) })
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	var got string
	complete := func() bool {
		got = treeOf(spansOf(t, file, trace), parent)
		return got == string(want)
	}
	for deadline := time.Now().Add(30 * time.Second); !complete() && time.Now().Before(deadline); {
		require.Equal(t, 200, s.ask(http.MethodGet, "/health", "", nil)) // It takes a moment, as a pause would.
	}
	require.Equal(t, string(want), got)
	spans := spansOf(t, file, trace)
	require.True(t, slices.ContainsFunc(spans, func(s tracing.Line) bool { return isCommand(s) && s.Name == "insert flow_run" }),
		"the commands of the store are spans too")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	slug := hook.URL[strings.LastIndexByte(hook.URL, '/')+1:]
	require.NotContains(t, string(text), slug, "the slug is a secret")
}

// writeStable writes the golden file once its content has not changed for a while.
func writeStable(t *testing.T, path string, content func() string) {
	t.Helper()
	last, since := "", time.Now()
	require.Eventually(t, func() bool {
		if now := content(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 5*time.Second
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(last), 0o600))
}
