package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const everyOrder = `
    trigger: {type: event, posture: Reactive, expect: [order.placed, order.changed], threshold: 1, within: 0}
`

// TestAutomationsAsCode: a file with names is applied once, a second run changes nothing, an export is the same file, and an invalid file
// changes nothing.
func TestAutomationsAsCode(t *testing.T) {
	s, api := newShell(t)
	dir := t.TempDir()
	s.known = append(s.known, [2]string{dir + string(filepath.Separator), ""})
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	key := s.known[1][0]
	flow := post(t, api+"/flows/", key, `{"name": "orders"}`)
	post(t, api+"/work_pools/", key, `{"name": "local", "type": "process"}`)
	post(t, api+"/deployments/", key, fmt.Sprintf(`{"name": "nightly", "flow_id": %q, "work_pool_name": "local"}`, flow))

	ship := "automations:\n  - name: ship" + everyOrder
	first := write("first.yaml", ship+"    actions: [{type: run-deployment, deployment: orders/nightly, parameters: {id: \"{{ event.id }}\"}}]\n"+
		"  - name: stop"+everyOrder+"    enabled: false\n    actions: [{type: pause-work-pool, work_pool: local}, {type: pause-work-queue, work_queue: local/default}]\n")
	s.run("automation", "apply", "-f", write("misspelled.yaml", "automation: []\n"), "--prune")
	s.run("automation", "apply", "-f", write("empty.yaml", ""), "--prune")
	s.run("automation", "apply", "-f", write("nameless.yaml", "automations:\n  - {description: none}\n"))
	s.run("automation", "apply", "-f", write("twice.yaml", ship+"    actions: []\n  - name: ship"+everyOrder+"    actions: []\n"))
	s.run("automation", "apply", "-f", write("unknown.yaml", ship+"    actions: [{type: run-deployment, deployment: orders/hourly}]\n"))
	s.run("automation", "apply", "-f", write("both.yaml", ship+"    actions: [{type: pause-work-pool, work_pool: local, work_pool_id: 00000000-0000-0000-0000-000000000001}]\n"))
	s.run("automation", "apply", "-f", write("invalid.yaml", "automations:\n  - name: good"+everyOrder+"    actions: []\n  - name: bad"+everyOrder+"    actions: [{type: shout}]\n"))
	s.run("automation", "ls")
	s.run("automation", "apply", "-f", first, "--dry-run")
	s.run("automation", "apply", "-f", first)
	s.run("automation", "apply", "-f", first)
	s.run("automation", "export")
	exported, err := s.try("", "automation", "export")
	require.NoError(t, err)
	s.run("automation", "apply", "-f", write("exported.yaml", exported))
	s.run("automation", "apply", "-f", write("changed.yaml", ship+"    description: Ships each order.\n    actions: [{type: do-nothing}, {type: pause-automation, automation: stop}]\n"))
	s.run("automation", "apply", "-f", write("one.yaml", "name: single\n"+strings.TrimLeft(everyOrder, " \n")+"actions: []\n"))
	s.run("automation", "apply", "-f", write("pruned.yaml", ship+"    actions: [{type: do-nothing}]\n"), "--prune", "--yes")
	s.run("automation", "ls")
	s.golden("automation_apply.txt")
}

// post creates a record and returns its id.
func post(t *testing.T, address, key, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusCreated, response.StatusCode)
	var made struct{ ID string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&made))
	return made.ID
}
