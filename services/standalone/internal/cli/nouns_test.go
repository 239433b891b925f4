package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/cli"
)

// nouns are the commands of the collections of the API; an empty command stands for a reason why there is none.
var nouns = map[string]struct{ command, reason string }{
	"accounts":              {"user", ""},
	"account_memberships":   {"user", ""},
	"admin":                 {"status", ""},
	"api_keys":              {"api-key", ""},
	"artifacts":             {"artifact", ""},
	"assets":                {"", "clients record them with events"},
	"automations":           {"automation", ""},
	"block_capabilities":    {"block", ""},
	"block_documents":       {"block", ""},
	"block_schemas":         {"block", ""},
	"block_types":           {"block", ""},
	"bot_access":            {"workspace", ""},
	"bots":                  {"service-account", ""},
	"collections":           {"", "lists that clients read"},
	"concurrency_limits":    {"limit", ""},
	"csrf-token":            {"", "no record"},
	"deployments":           {"deployment", ""},
	"events":                {"event", ""},
	"flow_run_states":       {"flow-run", ""},
	"flow_runs":             {"flow-run", ""},
	"flows":                 {"flow", ""},
	"health":                {"status", ""},
	"hello":                 {"status", ""},
	"logs":                  {"flow-run", ""},
	"me":                    {"whoami", ""},
	"observed-states":       {"", "a stream for clients"},
	"ready":                 {"status", ""},
	"saved_searches":        {"", "searches of a dashboard"},
	"task_run_states":       {"task-run", ""},
	"task_runs":             {"task-run", ""},
	"task_workers":          {"", "clients that are connected now"},
	"team_access":           {"workspace", ""},
	"templates":             {"template", ""},
	"ui":                    {"", "reads of a dashboard"},
	"user_access":           {"workspace", ""},
	"users":                 {"user", ""},
	"v2/backfills":          {"backfill", ""},
	"v2/concurrency_limits": {"limit", ""},
	"v2/destinations":       {"destination", ""},
	"v2/event_types":        {"event-type", ""},
	"variables":             {"variable", ""},
	"version":               {"status", ""},
	"webhooks":              {"webhook", ""},
	"work_pools":            {"work-pool", ""},
	"work_queues":           {"work-queue", ""},
	"workspace_access":      {"workspace", ""},
	"workspace_scopes":      {"role", ""},
}

func TestEveryCollectionOfTheAPIHasACommand(t *testing.T) {
	text, err := orch(t, "", "openapi")
	require.NoError(t, err)
	var document struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	commands := map[string]bool{}
	for _, one := range cli.New("test").Commands() {
		commands[one.Name()] = true
	}
	seen := map[string]bool{}
	for path := range document.Paths {
		noun, rest, _ := strings.Cut(strings.Trim(path, "/"), "/")
		if noun == "v2" {
			next, _, _ := strings.Cut(rest, "/")
			noun += "/" + next
		}
		one, listed := nouns[noun]
		require.True(t, listed, "no command for %s", path)
		require.True(t, one.reason != "" || commands[one.command], "%s: there is no command %q", path, one.command)
		seen[noun] = true
	}
	for noun := range nouns {
		require.True(t, seen[noun] || noun == "account_memberships" || noun == "api_keys" || noun == "bots", "the API has no %s", noun)
	}
}

func TestNamesOfTheServerComplete(t *testing.T) {
	s, _ := newShell(t)
	for _, args := range [][]string{
		{"variable", "create", "region", "--value", "eu"},
		{"work-pool", "create", "local", "--type", "process"},
		{"work-queue", "create", "local/urgent"},
		{"limit", "create", "database", "--limit", "1"},
		{"block", "create", "secret/token", "--set", "value=x"},
	} {
		_, err := s.try("", args...)
		require.NoError(t, err, "%v", args)
	}
	for _, one := range []struct{ want, noun, begin string }{
		{"region", "variable", "re"},
		{"local", "work-pool", "lo"},
		{"local/urgent", "work-queue", "local/u"},
		{"database", "limit", "da"},
		{"secret/token", "block", "secret/"},
		{"owner@localhost", "user", "own"},
		{"Developer", "role", "Dev"},
	} {
		t.Run(one.noun, func(t *testing.T) {
			out, err := s.try("", "__complete", one.noun, "inspect", one.begin)
			require.NoError(t, err)
			require.Equal(t, one.want, strings.Split(out, "\n")[0])
		})
	}
}
