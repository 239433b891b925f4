package standalone_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodb "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

// spoken replaces the prefixes of names in a text by those of a vocabulary: "@." stands for "orch.".
func spoken(v vocabulary.Vocabulary, text string) string {
	return strings.NewReplacer("@@", v.CloudName(), "@", v.Name()).Replace(text)
}

// furnish makes documents of all kinds that hold names of the server, and names of users that resemble them.
func (s *server) furnish(v vocabulary.Vocabulary) {
	s.t.Helper()
	create := func(path, body string) (id string) {
		s.t.Helper()
		var got map[string]any
		status := s.ask(http.MethodPost, path, spoken(v, body), &got)
		require.Contains(s.t, []int{200, 201}, status, "%s: %s", path, got)
		id, _ = got["id"].(string)
		return id
	}
	flow := create("/flows/", `{"name": "etl", "labels": {"orch.mine": "x", "team": "orch.flow.x"}}`)
	create("/work_pools/", `{"name": "pool", "type": "process"}`)
	deployment := create("/deployments/", fmt.Sprintf(`{"name": "d", "flow_id": %q, "work_pool_name": "pool",
		"parameters": {"a": {"__@_kind": "json", "value": "[1.50]"}, "b": "orch.flow-run.x <&>"}, "enforce_parameter_schema": false}`, flow))
	run := create("/deployments/"+deployment+"/create_flow_run", `{"name": "r", "parameters": {"c": 1}}`)
	task := create("/task_runs/", fmt.Sprintf(`{"name": "t", "flow_run_id": %q, "task_key": "k", "dynamic_key": "0"}`, run))
	create("/artifacts/", fmt.Sprintf(`{"key": "a", "type": "markdown", "data": "orch.flow.x", "flow_run_id": %q}`, run))
	create("/variables/", `{"name": "v", "value": "orch.flow-run.x"}`)
	require.Equal(s.t, 201, s.ask(http.MethodPut, "/saved_searches/", spoken(v, `{"name": "s", "filters": [{"object": "event", "property": "event", "type": "string", "operation": "any", "value": ["@.flow-run.Failed", "mine"]}]}`), nil))
	kind := create("/block_types/", `{"name": "Box", "slug": "box"}`)
	schema := create("/block_schemas/", fmt.Sprintf(`{"block_type_id": %q, "fields": {"title": "Box", "type": "object", "properties": {"x": {"type": "object"}}}}`, kind))
	create("/block_documents/", fmt.Sprintf(`{"name": "box", "block_type_id": %q, "block_schema_id": %q, "data": {"x": {"__@_kind": "jinja", "template": "orch.flow.x"}}}`, kind, schema))

	create("/automations/", `{"name": "notify", "trigger": {"type": "event", "posture": "Reactive", "threshold": 1,
		"expect": ["@.flow-run.Completed", "@.task-run.*", "mine.orch.x", "orchestra.x", "orch.mine"], "after": [],
		"match": {"@.resource.id": ["@.flow-run.*", "!@.task-run.*"]},
		"match_related": [{"@.resource.role": "flow", "@.resource.id": "@.flow.*"}], "for_each": ["@.resource.id"]},
		"actions": [{"type": "do-nothing"}, {"type": "run-deployment", "source": "inferred",
			"parameters": {"id": {"__@_kind": "jinja", "template": "{{ event.resource['@.resource.id'] is string }}"}, "text": "orch.flow-run.x {{ event.resource.labels.@.resource.id is string }}"}}]}`)
	create("/automations/", `{"name": "idle", "trigger": {"type": "event", "posture": "Proactive", "threshold": 1, "within": 86400, "after": ["@.flow*", "@@.webhook.failed"],
		"expect": ["@.*", "orch*"], "match": {"owner": ["@.flow.x", "orch.mine"]}, "for_each": ["@.resource.name"]}, "actions": [
		{"type": "run-deployment", "source": "inferred", "job_variables": {"x": "{{ event.event == '@.flow-run.Late' }}"}}]}`)
	create("/automations/", `{"name": "count", "trigger": {"type": "event", "posture": "Reactive", "threshold": 3, "within": 86400,
		"expect": ["pinged"], "match_related": {"@.resource.role": "probe"}, "for_each": ["@.resource.id", "owner", "related:probe:@.resource.id"]},
		"actions": [{"type": "do-nothing"}]}`)
	create("/automations/", `{"name": "both", "trigger": {"type": "compound", "require": "all", "within": 86400, "triggers": [
		{"type": "event", "posture": "Reactive", "threshold": 1, "expect": ["pinged"], "for_each": ["@.resource.id", "owner"]},
		{"type": "event", "posture": "Reactive", "threshold": 1, "expect": ["ponged"], "for_each": ["@.resource.id", "owner"]}]},
		"actions": [{"type": "do-nothing"}]}`)

	hook := create("/webhooks/", `{"name": "gh", "template": "{\"event\": \"pushed\", \"resource\": {\"@.resource.id\": \"@.flow.{{ body.id }}\", \"orch.mine\": \"x\"}, \"payload\": {\"orch.resource.id\": 1}, \"related\": [{\"@.resource.id\": \"a\", \"@.resource.role\": \"repo\"}]}"}`)
	s.deliver(hook, http.StatusNoContent)
	broken := create("/webhooks/", `{"name": "broken", "template": "{\"event\": \"pushed\"}"}`)
	s.deliver(broken, http.StatusBadRequest)

	s.ping(v, 1)
	s.transition(run, "RUNNING")
	s.transition(run, "COMPLETED")
	require.Equal(s.t, 201, s.ask(http.MethodPost, "/task_runs/"+task+"/set_state", `{"state": {"type": "COMPLETED"}, "force": true}`, nil))
}

func (s *server) transition(run, to string) {
	s.t.Helper()
	require.Equal(s.t, 201, s.ask(http.MethodPost, "/flow_runs/"+run+"/set_state", fmt.Sprintf(`{"state": {"type": %q}, "force": true}`, to), nil))
}

// deliver posts to a webhook.
func (s *server) deliver(hook string, status int) {
	s.t.Helper()
	var got struct{ URL string }
	require.Equal(s.t, 200, s.ask(http.MethodGet, "/webhooks/"+hook, "", &got))
	response, err := s.http.Post(got.URL, "application/json", strings.NewReader(`{"id": "7"}`))
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Equal(s.t, status, response.StatusCode)
}

// ping sends an event that the automation "count" counts. Its key has values of labels that sort differently in each vocabulary.
func (s *server) ping(v vocabulary.Vocabulary, n int) {
	s.t.Helper()
	require.Equal(s.t, 204, s.ask(http.MethodPost, "/events", spoken(v, fmt.Sprintf(`[{"id": "0193a8b1-0000-7000-8000-%012d", "occurred": %q, "event": "pinged",
		"resource": {"@.resource.id": "@.flow.7", "owner": "me", "note": "see orch.flow.7"},
		"related": [{"@.resource.id": "@.work-pool.7", "@.resource.role": "probe"}], "payload": {"orch.resource.id": "orch.flow.7"}}]`,
		n, time.Now().UTC().Format(time.RFC3339))), nil))
}

// total counts the events that a filter selects.
func (s *server) total(v vocabulary.Vocabulary, filter string) int64 {
	s.t.Helper()
	var page struct{ Total int64 }
	require.Equal(s.t, 200, s.ask(http.MethodPost, "/events/filter", spoken(v, `{"filter": `+filter+`}`), &page))
	return page.Total
}

// await waits until the filter selects a number of events.
func (s *server) await(v vocabulary.Vocabulary, filter string, n int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.total(v, filter) == n }, time.Minute, 10*time.Millisecond, "%s: %d", filter, s.total(v, filter))
}

// settled waits until the furnished server has evaluated everything.
func (s *server) settled(v vocabulary.Vocabulary) {
	s.t.Helper()
	s.await(v, `{"event": {"name": ["@.flow-run.Completed"]}}`, 1)
	s.await(v, `{"event": {"name": ["@@.webhook.failed"]}}`, 1)
	s.await(v, `{"event": {"name": ["@.automation.triggered"]}}`, 1)
	s.await(v, `{"event": {"prefix": ["@.automation.action."]}}`, 4)
	require.Eventually(s.t, func() bool {
		var hooks []struct {
			Health struct {
				LastDelivery *string `json:"last_delivery"`
			}
		}
		require.Equal(s.t, 200, s.ask(http.MethodPost, "/webhooks/filter", "", &hooks))
		return hooks[0].Health.LastDelivery != nil && hooks[1].Health.LastDelivery != nil
	}, 30*time.Second, 10*time.Millisecond)
}

// documents opens the store of a stopped server.
func documents(t *testing.T, dir string, do func(db *mongodb.Database)) {
	t.Helper()
	store, err := embeddedmongo.Open(filepath.Join(dir, "store"), embeddedmongo.Options{})
	require.NoError(t, err)
	client, err := mongodb.Connect(options.Client().ApplyURI(store.URI()).SetDialer(store.ContextDialer()))
	require.NoError(t, err)
	do(client.Database("orch"))
	require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context())))
	require.NoError(t, store.Close())
}

// contents returns every document of a database as text, by collection.
func contents(t *testing.T, db *mongodb.Database) map[string][]string {
	t.Helper()
	names, err := db.ListCollectionNames(t.Context(), bson.D{})
	require.NoError(t, err)
	all := map[string][]string{}
	for _, name := range names {
		cursor, err := db.Collection(name).Find(t.Context(), bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		require.NoError(t, err)
		for cursor.Next(t.Context()) {
			all[name] = append(all[name], cursor.Current.String())
		}
		require.NoError(t, cursor.Err())
	}
	return all
}

// generated matches what differs between two runs of the same calls: ids, times, numbers, and what is random or encrypted.
var generated = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?`, `\{"\$binary":[^}]*\}+`, `\{"\$date":[^}]*\}+`,
	`\{"\$numberLong":"\d*"\}`, `\{"\$numberDouble":"[^"]*"\}`, `"slug": ?"[\w-]{22}"`, `"(name|v)": ?"[a-z]+-[a-z]+"`, `sha256:[0-9a-f]+`, `127\.0\.0\.1:\d+`, `Go-http-client/[\d.]+`,
}, "|"))

// names returns the contents of a directory without what is generated, to compare the names.
func names(t *testing.T, dir string) map[string][]string {
	t.Helper()
	var all map[string][]string
	documents(t, dir, func(db *mongodb.Database) { all = contents(t, db) })
	for _, collection := range []string{"lease", "meta", "term", "event_type"} { // Terms are of generated names, and event types of samples.
		delete(all, collection)
	}
	for name, docs := range all {
		for i, doc := range docs {
			docs[i] = sortedPairs(generated.ReplaceAllString(doc, "_"))
		}
		slices.Sort(docs)
		all[name] = docs
	}
	return all
}

// sortedPairs sorts the members of JSON in texts: names sort differently in each vocabulary, and a payload keeps the order.
func sortedPairs(doc string) string {
	var v any
	if json.Unmarshal([]byte(doc), &v) != nil {
		return doc
	}
	text, _ := json.Marshal(nested(v))
	return string(text)
}

// nested parses the JSON in texts.
func nested(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = nested(item)
		}
	case []any:
		for i, item := range v {
			v[i] = nested(item)
		}
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			return nested(inner)
		}
	}
	return v
}

// convert converts a directory and returns the report.
func convert(t *testing.T, dir string, to vocabulary.Vocabulary, dryRun bool) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, standalone.ConvertVocabulary(t.Context(), dir, orchestration.Conversion{
		To: to, DryRun: dryRun, Out: &out, Progress: func(string, int64, int64) {},
	}, quiet))
	return out.String()
}

func inVocabulary(v vocabulary.Vocabulary) string { return "ORCH_VOCABULARY=" + v.String() }

func TestConvertedDataHasTheNamesOfNativeData(t *testing.T) {
	t.Parallel()
	for _, v := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		t.Run("to "+v.Other().String(), func(t *testing.T) {
			t.Parallel()
			var all [2]map[string][]string
			for i, words := range []vocabulary.Vocabulary{v, v.Other()} {
				dir := t.TempDir()
				s := start(t, dir, inVocabulary(words))
				s.furnish(words)
				s.settled(words)
				s.stop()
				if words == v {
					convert(t, dir, v.Other(), false)
				}
				all[i] = names(t, dir)
			}
			for name, native := range all[1] {
				require.Equal(t, strings.Join(native, "\n"), strings.Join(all[0][name], "\n"), name)
			}
			require.Len(t, all[0], len(all[1]))
		})
	}
}

func TestConversionThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	s.furnish(vocabulary.Orch)
	// Clients that expect the other vocabulary.
	require.Equal(t, 204, s.ask(http.MethodPost, "/events", fmt.Sprintf(`[{"id": "0193a8b1-0000-7000-8000-00000000aaaa", "occurred": %q, "event": "prefect.flow-run.Completed",
		"resource": {"orch.resource.id": "orch.flow.7", "prefect.resource.id": "prefect.flow.8"}}]`, time.Now().UTC().Format(time.RFC3339)), nil))
	require.Equal(t, 201, s.ask(http.MethodPost, "/automations/", `{"name": "hedged", "trigger": {"type": "event", "posture": "Reactive", "threshold": 1,
		"expect": ["orch.flow-run.Failed", "prefect.flow-run.Failed", "prefect.flow-run.Late"]}, "actions": [{"type": "do-nothing"}]}`, nil))
	s.settled(vocabulary.Orch)
	s.stop()
	var before, between, after map[string][]string
	documents(t, dir, func(db *mongodb.Database) { before = contents(t, db) })
	require.Contains(t, convert(t, dir, vocabulary.Prefect, true), "expect: orch.flow-run.Completed -> prefect.flow-run.Completed")
	documents(t, dir, func(db *mongodb.Database) { between = contents(t, db) })
	require.Equal(t, before, between, "a dry run")
	convert(t, dir, vocabulary.Prefect, false)
	documents(t, dir, func(db *mongodb.Database) { between = contents(t, db) })
	require.NotEmpty(t, between["vocabulary_exception"])
	require.NotContains(t, strings.Join(between["event_type"], "\n"), "flow-run.Completed", "names of the server in either vocabulary")
	require.Contains(t, convert(t, dir, vocabulary.Prefect, false), "already")
	convert(t, dir, vocabulary.Orch, false)
	documents(t, dir, func(db *mongodb.Database) { after = contents(t, db) })
	for name := range before {
		if name != "block_document" && name != "event_type" { // Encryption is random, and event types are gathered again.
			require.Equal(t, strings.Join(before[name], "\n"), strings.Join(after[name], "\n"), name)
		}
	}
	require.Len(t, after, len(before))
}

func TestConvertedDataBehaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	s.furnish(vocabulary.Orch)
	s.settled(vocabulary.Orch)
	s.ping(vocabulary.Orch, 2) // Probably still in the streams when the server stops.
	s.stop()
	convert(t, dir, vocabulary.Prefect, false)

	v := vocabulary.Prefect
	s = start(t, dir, inVocabulary(v))
	s.await(v, `{"event": {"name": ["pinged"]}}`, 2)
	require.Equal(t, int64(2), s.total(v, `{"related": {"id": ["@.work-pool.7"]}}`))
	require.Equal(t, int64(2), s.total(v, `{"related": {"role": ["probe"]}, "resource": {"id": ["@.flow.7"]}}`))
	require.Equal(t, int64(0), s.total(vocabulary.Orch, `{"any_resource": {"id_prefix": ["@.", "@@."]}}`))
	require.Equal(t, int64(0), s.total(vocabulary.Orch, `{"event": {"prefix": ["@.flow", "@.task", "@.automation", "@@."]}}`))

	fired := s.total(v, `{"event": {"name": ["@.automation.triggered"]}}`)
	s.ping(v, 3) // The third one, in the window that was open.
	s.await(v, `{"event": {"name": ["@.automation.triggered"]}}`, fired+1)
	require.Equal(t, 204, s.ask(http.MethodPost, "/events", spoken(v, fmt.Sprintf(`[{"id": "0193a8b1-0000-7000-8000-00000000bbbb", "occurred": %q, "event": "ponged",
		"resource": {"@.resource.id": "@.flow.7", "owner": "me"}}]`, time.Now().UTC().Format(time.RFC3339))), nil))
	s.await(v, `{"event": {"name": ["@.automation.triggered"]}}`, fired+2)

	var hooks []struct{ ID, Name, Template string }
	require.Equal(t, 200, s.ask(http.MethodPost, "/webhooks/filter", "", &hooks))
	for _, hook := range hooks {
		if hook.Name == "gh" {
			s.deliver(hook.ID, http.StatusNoContent)
		}
	}
	s.await(v, `{"event": {"name": ["pushed"]}, "resource": {"id": ["@.flow.7"]}, "related": {"role": ["webhook"]}}`, 2)
	var deployments []struct{ Parameters map[string]any }
	require.Equal(t, 200, s.ask(http.MethodPost, "/deployments/filter", "", &deployments))
	require.Equal(t, map[string]any{"__prefect_kind": "json", "value": "[1.50]"}, deployments[0].Parameters["a"])
	require.Equal(t, "orch.flow-run.x <&>", deployments[0].Parameters["b"])
}

var errInterrupted = errors.New("interrupted")

func TestInterruptedConversionContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	s.furnish(vocabulary.Orch)
	s.settled(vocabulary.Orch)
	s.stop()
	expected := t.TempDir()
	require.NoError(t, os.CopyFS(expected, os.DirFS(dir)))
	require.NoError(t, os.Chmod(filepath.Join(expected, "secrets.key"), 0o600))
	convert(t, expected, vocabulary.Prefect, false)

	for step := 1; ; step++ {
		steps := 0
		ctx, interrupt := context.WithCancelCause(t.Context())
		err := standalone.ConvertVocabulary(ctx, dir, orchestration.Conversion{To: vocabulary.Prefect, Out: &bytes.Buffer{}, Progress: func(string, int64, int64) {
			if steps++; steps == step {
				interrupt(errInterrupted)
			}
		}}, quiet)
		interrupt(nil)
		if err == nil {
			break
		}
		if step == 1 {
			cfg, err := config.LoadFrom[standalone.Config](map[string]string{"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0"})
			require.NoError(t, err)
			_, err = standalone.New(t.Context(), cfg, "test", quiet)
			require.ErrorContains(t, err, "orch vocabulary convert --to prefect")
			require.ErrorIs(t, standalone.ConvertVocabulary(t.Context(), dir, orchestration.Conversion{To: vocabulary.Orch}, quiet), vocabulary.ErrConverting)
		}
	}
	require.Equal(t, names(t, expected), names(t, dir))
	start(t, dir, inVocabulary(vocabulary.Prefect)).stop()
}

func TestConversionOfADatabase(t *testing.T) {
	uri, nats, dir := mongo(t), testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"}), t.TempDir()
	s := start(t, dir)
	s.furnish(vocabulary.Orch)
	s.settled(vocabulary.Orch)
	s.stop()
	require.NoError(t, standalone.Export(t.Context(), dir, uri, "orch", func(string, int64, int64) {}, quiet))
	key, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
	require.NoError(t, err)
	t.Setenv("ORCH_SECRETS_KEY", string(key))
	t.Setenv("ORCH_NATS_URL", nats.Server().ClientURL())
	how := orchestration.Conversion{To: vocabulary.Prefect, Out: &bytes.Buffer{}, Progress: func(string, int64, int64) {}}

	client, err := mongodb.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context()))) })
	leases := client.Database("orch").Collection("lease")
	_, err = leases.DeleteMany(t.Context(), bson.D{}) // The server has just ended.
	require.NoError(t, err)
	_, err = leases.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "held"}, {Key: "until", Value: time.Now().Add(time.Hour).UnixMicro()}})
	require.NoError(t, err)
	require.ErrorIs(t, standalone.ConvertDatabaseVocabulary(t.Context(), uri, "orch", how, quiet), orchestration.ErrInUse)
	_, err = leases.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: "held"}})
	require.NoError(t, err)

	require.NoError(t, standalone.ConvertDatabaseVocabulary(t.Context(), uri, "orch", how, quiet))
	mark, err := standalone.DatabaseVocabulary(t.Context(), uri, "orch")
	require.NoError(t, err)
	require.Equal(t, "prefect", mark)
	imported := filepath.Join(t.TempDir(), "i")
	require.NoError(t, standalone.Import(t.Context(), uri, "orch", imported, func(string, int64, int64) {}, quiet))
	require.NoError(t, os.WriteFile(filepath.Join(imported, "secrets.key"), key, 0o600))
	convert(t, dir, vocabulary.Prefect, false)
	require.Equal(t, names(t, dir), names(t, imported), "both forms behave alike")
}
