//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// decidedLine is what a server logs between the mark in its data directory and the claim of its store.
const decidedLine = "has decided the vocabulary"

// firstWriter is a client whose write may decide the vocabulary.
type firstWriter struct {
	agent string
	flow  string // The name of the flow that it creates.
}

// TestKillBetweenDecisionAndStore kills an undecided server as soon as a client's write has decided, while clients of both vocabularies
// write. The next start has the decided vocabulary, nothing that was acknowledged is lost, and the clients' repeated writes succeed, or are
// refused for their vocabulary.
func TestKillBetweenDecisionAndStore(t *testing.T) {
	const rounds = 5
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			dir := t.TempDir()
			o := StartSingleAt(t, programs, dir, FreeAddress(t))
			server := o.Processes[0]
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			writers := []firstWriter{
				{"prefect/3.6.1 (API 0.8.4)", "a"}, {"curl/8.5.0", "b"}, {"prefect/3.9.1 (API 0.8.4)", "c"}, {"orch/1.0.0", "d"},
			}
			acknowledged := make([]bool, len(writers))
			var clients sync.WaitGroup
			for i := range writers {
				// Each round begins with another client, so that both vocabularies are decided.
				at := (i + round) % len(writers)
				clients.Go(func() {
					status, err := writers[at].write(ctx, o)
					acknowledged[at] = err == nil && status < http.StatusMultipleChoices
				})
			}
			_, err := server.LineWith(ctx, decidedLine)
			require.NoError(t, err)
			server.Kill()
			require.Equal(t, 1, strings.Count(server.Output(), `"msg":"listening"`), "the kill came before the next instance")
			clients.Wait()

			decided := marked(t, dir)
			require.Contains(t, server.Output(), `"vocabulary":"`+decided.String()+`"`)
			o.Restart(t, server)
			require.Equal(t, decided, marked(t, dir))
			for i, w := range writers {
				if acknowledged[i] {
					require.Equal(t, http.StatusOK, send(t, o, http.MethodGet, "/flows/name/"+w.flow, "", w.agent), "acknowledged and lost")
				}
				status, err := w.write(ctx, o)
				require.NoError(t, err)
				if decided.ForeignAgent(w.agent) {
					require.Equal(t, http.StatusBadRequest, status)
					continue
				}
				require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status)
			}
			for _, v := range []vocabulary.Vocabulary{decided, decided.Other()} {
				event := fmt.Sprintf(`[{"occurred": "2026-01-02T03:04:05Z", "event": "pushed", "resource": {%q: "a"}, "id": "0198f2b4-0000-7000-8000-000000000001"}]`, v.ResourceID())
				want := map[bool]int{true: http.StatusNoContent, false: http.StatusUnprocessableEntity}[v == decided]
				require.Equal(t, want, send(t, o, http.MethodPost, "/events", event, "curl/8.5.0"), v.String())
			}
			require.Equal(t, 1, strings.Count(server.Output(), decidedLine), "decided once")
		})
	}
}

// write creates the flow.
func (w firstWriter) write(ctx context.Context, o *Orch) (status int, err error) {
	return exchange(ctx, o, http.MethodPost, "/flows/", fmt.Sprintf(`{"name": %q}`, w.flow), w.agent)
}

// send sends a request that must get a response, and returns its status.
func send(t *testing.T, o *Orch, method, path, body, agent string) int {
	t.Helper()
	status, err := exchange(t.Context(), o, method, path, body, agent)
	require.NoError(t, err)
	return status
}

// exchange sends a request of a client to the API.
func exchange(ctx context.Context, o *Orch, method, path, body, agent string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, o.API()+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", agent)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// marked returns the vocabulary in the mark of a data directory.
func marked(t *testing.T, dir string) vocabulary.Vocabulary {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "orch.json"))
	require.NoError(t, err)
	var mark struct {
		Vocabulary string `json:"vocabulary"`
	}
	require.NoError(t, json.Unmarshal(text, &mark))
	v, err := vocabulary.ParseStored(mark.Vocabulary)
	require.NoError(t, err)
	require.True(t, v.Decided())
	return v
}
