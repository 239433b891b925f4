package standalone_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A signed webhook becomes an event, the event fires an automation, and the automation creates a deployment run.
func TestALoopIsClosed(t *testing.T) {
	const secret, posts = "signing-secret-of-the-test", 50
	s := start(t, t.TempDir())
	type created struct {
		ID  string
		URL string
	}
	create := func(path, body string) created {
		var c created
		require.Contains(t, []int{200, 201}, s.ask(http.MethodPost, path, body, &c), path)
		return c
	}
	hook := create("/webhooks/", fmt.Sprintf(`{"name":"gh","verification":{"scheme":"github","secrets":[%q]},
		"template":"{\"event\":\"github.push\",\"resource\":{\"orch.resource.id\":\"repo.{{ body.repo }}\"},\"payload\":{{ body | tojson }}}"}`, secret))
	flow := create("/flows/", `{"name":"ship"}`)
	deployment := create("/deployments/", fmt.Sprintf(`{"name":"ship","flow_id":%q}`, flow.ID))
	create("/automations/", fmt.Sprintf(`{"name":"ship on push","trigger":{"type":"event","posture":"Reactive","expect":["github.push"],
		"match":{"orch.resource.id":"repo.*"}},"actions":[{"type":"run-deployment","deployment_id":%q,
		"parameters":{"ref":"{{ event.payload.ref }}","n":"{{ event.payload.n }}"}}]}`, deployment.ID))

	runs := func() (all []struct {
		ID         string
		Parameters struct {
			Ref string
			N   int
		}
	},
	) {
		require.Equal(t, 200, s.ask(http.MethodPost, "/flow_runs/filter", `{"limit":200}`, &all))
		return all
	}
	var took []time.Duration
	for i := range posts {
		body := fmt.Sprintf(`{"ref":"refs/heads/main","n":%d,"repo":"a"}`, i)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hook.URL, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		response, err := s.http.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusNoContent, response.StatusCode)
		posted := time.Now()
		require.Eventually(t, func() bool { return len(runs()) > i }, time.Minute, time.Millisecond)
		took = append(took, time.Since(posted))
	}
	seen := map[int]bool{}
	for _, run := range runs() {
		require.Equal(t, "refs/heads/main", run.Parameters.Ref)
		seen[run.Parameters.N] = true
	}
	require.Len(t, seen, posts)
	require.Len(t, runs(), posts, "each post makes one run")
	slices.Sort(took)
	t.Logf("from 204 to the run, as a client sees it: p50 %s, p99 %s", took[posts/2], took[posts*99/100])
}
