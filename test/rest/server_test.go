// Package rest_test calls every route of the REST API, on a server with real sockets and a real store. It validates
// every response against the OpenAPI document.
package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// server is a running server with its OpenAPI document.
type server struct {
	t        *testing.T
	client   *http.Client
	api      string
	key      string // The owner's API key; empty without authentication.
	document *openapi3.T

	mu      sync.Mutex
	visited map[string]bool // The called operations, such as "GET /flows/{id}".
}

// start runs a server with settings, given as names and values. With authentication, requests carry the owner's key.
func start(t *testing.T, settings ...string) *server {
	t.Helper()
	env := map[string]string{
		"ORCH_DATA_DIR": t.TempDir(), "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "127.0.0.1:0", "ORCH_VOCABULARY": "orch",
		"ORCH_UNSAFE_NO_SYNC": "true",
	}
	for i := 0; i < len(settings); i += 2 {
		env[settings[i]] = settings[i+1]
	}
	cfg, err := config.LoadFrom[standalone.Config](env)
	require.NoError(t, err)
	run, err := standalone.New(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	transport := &http.Transport{}
	data, err := openapi.API(vocabulary.Orch)
	require.NoError(t, err)
	s := &server{t: t, client: &http.Client{Transport: transport}, api: "http://" + run.Addr().String() + "/api", key: run.OwnerKey(), visited: map[string]bool{}}
	s.document, err = openapi3.NewLoader().LoadFromData(data)
	require.NoError(t, err)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-done)
	})
	require.Eventually(t, func() bool { return s.send("GET", "/ready", "", nil).status == http.StatusOK }, time.Minute, time.Millisecond)
	return s
}

// answer is a response with its body.
type answer struct {
	t      *testing.T
	status int
	body   []byte
	header http.Header
}

// send requests a path unchanged.
func (s *server) send(method, path, body string, header http.Header) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	maps.Copy(r.Header, header)
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answer{s.t, response.StatusCode, text, response.Header}
}

// visit is ask with an expected status.
func (s *server) visit(want int, operation, body string, parameters ...string) answer {
	s.t.Helper()
	got := s.ask(operation, body, parameters...)
	require.Equal(s.t, want, got.status, "%s: %s", operation, got.body)
	return got
}

// ask calls an operation of the document with its parameters in order, and validates the response against the document.
// A query follows the path after "?".
func (s *server) ask(operation, body string, parameters ...string) answer {
	s.t.Helper()
	method, path, found := strings.Cut(operation, " ")
	require.True(s.t, found, operation)
	template, query, _ := strings.Cut(path, "?")
	filled := template
	for _, value := range parameters {
		begin, end := strings.Index(filled, "{"), strings.Index(filled, "}")
		require.GreaterOrEqual(s.t, end, begin, operation)
		filled = filled[:begin] + value + filled[end+1:]
	}
	if query != "" {
		filled += "?" + query
	}
	got := s.send(method, filled, body, nil)
	s.mu.Lock()
	s.visited[method+" "+template] = true
	s.mu.Unlock()
	s.fits(method, template, got)
	return got
}

// fits validates a response against the document.
func (s *server) fits(method, template string, got answer) {
	s.t.Helper()
	item := s.document.Paths.Value(template)
	require.NotNil(s.t, item, "%s is not described", template)
	op := item.GetOperation(method)
	require.NotNil(s.t, op, "%s %s is not described", method, template)
	described := op.Responses.Status(got.status)
	if described == nil {
		require.GreaterOrEqual(s.t, got.status, 400, "%s %s: %d is not described", method, template, got.status)
		described = op.Responses.Default()
	}
	if len(got.body) == 0 {
		require.Empty(s.t, described.Value.Content, "%s %s: the body is empty", method, template)
		return
	}
	kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	if kind != "application/json" {
		return
	}
	media := described.Value.Content.Get(kind)
	require.NotNil(s.t, media, "%s %s %d: JSON is not described", method, template, got.status)
	decoder := json.NewDecoder(bytes.NewReader(got.body))
	decoder.UseNumber()
	var value any
	require.NoError(s.t, decoder.Decode(&value), "%s", got.body)
	require.NoError(s.t, media.Schema.Value.VisitJSON(value, openapi3.VisitAsResponse()), "%s %s: %s", method, template, got.body)
}

// unvisited returns the operations with one of these tags that were not called.
func (s *server) unvisited(tags ...string) []string {
	var missing []string
	for path, item := range s.document.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(tags, op.Tags[0]) && !s.visited[method+" "+path] {
				missing = append(missing, method+" "+path)
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// at returns a value of the response by its path: "state.name", "0.id".
func (a answer) at(path string) any {
	a.t.Helper()
	var value any
	require.NoError(a.t, json.Unmarshal(a.body, &value), "%s", a.body)
	if path == "" {
		return value
	}
	for step := range strings.SplitSeq(path, ".") {
		switch typed := value.(type) {
		case map[string]any:
			member, found := typed[step]
			require.True(a.t, found, "%q of %q in %s", step, path, a.body)
			value = member
		case []any:
			i := int(step[0] - '0')
			require.Less(a.t, i, len(typed), "%q of %q in %s", step, path, a.body)
			value = typed[i]
		default:
			require.Fail(a.t, "nothing there", "%q of %q in %s", step, path, a.body)
		}
	}
	return value
}

// text is at for a string.
func (a answer) text(path string) string {
	a.t.Helper()
	text, ok := a.at(path).(string)
	require.True(a.t, ok, "%q in %s", path, a.body)
	return text
}

// quoted encodes a string as JSON.
func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	return string(text)
}
