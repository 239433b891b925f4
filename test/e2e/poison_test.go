//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
)

// effectKinds are all kinds of effects, and one that no version handles.
var effectKinds = []string{
	"automation.action", "account_close", "account_ingestion", "actor_dismissed", "artifact_latest", "artifacts_delete", "blocks_delete_of_schema",
	"blocks_delete_of_type", "concurrency_deployment", "concurrency_keep", "concurrency_lease", "concurrency_release",
	"deployments_delete", "directory", "event", "flow_run_forget", "flow_run_input", "flow_run_state", "flow_runs_delete",
	"flow_runs_unstarted_delete", "logs_delete", "schedules_materialise", "service_account_webhooks", "task_run_cache",
	"task_run_flow_retry", "task_run_forget", "task_run_state", "task_run_subflow_state", "task_runs_delete",
	"webhook_definition", "webhook_enforcement", "work_pool_dissolve", "work_queue_detach", "work_queue_rename",
	"workspace_empty", "unknown kind",
}

const (
	// healthy is how many flows and how many events are created beside what can never succeed.
	healthy = 1000
	// secretText is the body of each poisoned effect: shorter than an id, so no handler can decode it.
	secretText = "the secret"
	// refusing is the name of an index that makes the store refuse documents with two arrays.
	refusing = "refuses arrays"
)

// TestPoison puts one effect of each kind into the store that can never be executed, and one frame into the stream that cannot
// be decoded. Among 1,000 healthy events it sends one that the store refuses to each consumer. All healthy effects are
// executed once, and the others are dead letters with their reasons. After mending, `orch dead-letters retry` succeeds.
//
// ORCH_TEST_WITHIN is the time after the last write in which the healthy effects must be executed, such as 2s. Without it the
// time is only printed.
func TestPoison(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			p := newPoisoned(t, form)
			p.poison()
			p.flood()
			p.inspect()
			p.mend()
		})
	}
}

// poisoned is a server whose store and stream are poisoned while it is down.
type poisoned struct {
	*testing.T
	form    form
	dataDir string
	orch    *Orch
	client  *Client
	// flows hold the poisoned effects, by kind.
	flows map[string]string
	// refused is the id of the event that both consumers are refused.
	refused string
}

func newPoisoned(t *testing.T, f form) *poisoned {
	t.Helper()
	p := &poisoned{
		T: t, form: f, dataDir: t.TempDir(), flows: map[string]string{}, refused: uuid.NewString(),
		client: &Client{HTTP: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, Ledger: NewLedger()},
	}
	t.Cleanup(p.client.HTTP.CloseIdleConnections)
	p.orch = f.startAt(t, p.dataDir)
	for _, kind := range effectKinds {
		p.flows[kind] = p.flow("poisoned " + kind)
	}
	for name, trigger := range map[string]map[string]any{
		"pairs":   {"posture": "Reactive", "threshold": 2},
		"silence": {"posture": "Proactive", "threshold": 1}, // Its buckets hold the last event.
	} {
		trigger["type"], trigger["expect"], trigger["for_each"], trigger["within"] = "event", []string{"poison.pair"}, []string{"orch.resource.id"}, 3600
		p.post("/automations/", map[string]any{"name": name, "trigger": trigger, "actions": []any{map[string]any{"type": "do-nothing"}}}, nil)
	}
	return p
}

func (p *poisoned) post(path string, body, out any) {
	p.Helper()
	status, err := p.client.post(p.Context(), p.orch.API()+path, body, out)
	require.NoError(p, err)
	require.Less(p, status, http.StatusMultipleChoices, "%s: %d", path, status)
}

func (p *poisoned) flow(name string) string {
	p.Helper()
	var flow struct {
		ID string `json:"id"`
	}
	p.post("/flows/", map[string]any{"name": name}, &flow)
	return flow.ID
}

// maintain stops the server, changes what is stored, and starts the server again.
func (p *poisoned) maintain(change func(db *mongo.Database, stream jetstream.JetStream)) {
	p.Helper()
	p.stop()
	infra := StartInfra(p, programs, p.dataDir)
	client, err := mongo.Connect(options.Client().ApplyURI(infra.MongoURI()))
	require.NoError(p, err)
	conn, err := nats.Connect(infra.NATSURL())
	require.NoError(p, err)
	stream, err := jetstream.New(conn)
	require.NoError(p, err)
	change(client.Database("orch"), stream)
	conn.Close()
	require.NoError(p, client.Disconnect(p.Context()))
	require.NoError(p, infra.Process.Stop(time.Minute))
	p.orch = p.form.startAt(p, p.dataDir)
}

// stop ends the server. The race detector prints into its output.
func (p *poisoned) stop() {
	p.Helper()
	p.orch.Stop(p)
	for _, process := range p.orch.Processes {
		require.NotContains(p, process.Output(), "DATA RACE", process.Name())
	}
}

// poison writes what can never succeed.
func (p *poisoned) poison() {
	p.maintain(func(db *mongo.Database, stream jetstream.JetStream) {
		for kind, flow := range p.flows {
			effect := bson.D{
				{Key: "id", Value: bsonUUID(uuid.New())},
				{Key: "at", Value: time.Now().Add(-time.Minute).UnixMicro()},
				{Key: "kind", Value: kind},
				{Key: "body", Value: bson.Binary{Data: []byte(secretText)}},
			}
			result, err := db.Collection("flow").UpdateOne(p.Context(), bson.D{{Key: "_id", Value: bsonUUID(uuid.MustParse(flow))}},
				bson.D{{Key: "$push", Value: bson.D{{Key: "outbox", Value: effect}}}})
			require.NoError(p, err)
			require.EqualValues(p, 1, result.ModifiedCount)
		}
		for collection, keys := range map[string]bson.D{
			"event":             {{Key: "related", Value: 1}, {Key: "resource_ids", Value: 1}},
			"automation_bucket": {{Key: "key", Value: 1}, {Key: "last.related", Value: 1}},
		} {
			_, err := db.Collection(collection).Indexes().CreateOne(p.Context(), mongo.IndexModel{Keys: keys, Options: options.Index().SetName(refusing)})
			require.NoError(p, err)
		}
		_, err := stream.Publish(p.Context(), "events.0", []byte("this is no frame"))
		require.NoError(p, err)
	})
}

// flood creates the healthy flows and events, with the refused event in their midst, and waits until their effects are
// executed.
func (p *poisoned) flood() {
	clients, ctx := errgroup.WithContext(p.Context())
	clients.SetLimit(16)
	for i := range healthy {
		clients.Go(func() error {
			status, err := p.client.post(ctx, p.orch.API()+"/flows/", map[string]any{"name": fmt.Sprintf("healthy %d", i)}, nil)
			if err != nil || status != http.StatusCreated {
				return unexpected("create a flow", status, err)
			}
			events := []map[string]any{event1("poison.healthy", fmt.Sprint(i))}
			if i == healthy/2 {
				bad := event1("poison.pair", "pair")
				bad["id"], bad["related"] = p.refused, []any{map[string]string{"orch.resource.id": "part", "orch.resource.role": "part"}}
				events = append(events, bad)
			}
			status, err = p.client.post(ctx, p.orch.API()+"/events", events, nil)
			if err != nil || status != http.StatusNoContent {
				return unexpected("create events", status, err)
			}
			return nil
		})
	}
	require.NoError(p, clients.Wait())
	written := time.Now()
	p.eventually(func() bool {
		return p.count("orch.flow.created") == healthy+len(effectKinds) && p.count("poison.healthy") == healthy
	})
	took := time.Since(written)
	p.Logf("all healthy effects executed %s after the last write", took.Round(time.Millisecond))
	if within, err := time.ParseDuration(os.Getenv("ORCH_TEST_WITHIN")); err == nil {
		require.LessOrEqual(p, took, within)
	}
	for _, name := range []string{"orch.flow.created", "poison.healthy"} {
		p.once(name)
	}
}

// event1 is an event of a resource.
func event1(name, resource string) map[string]any {
	return map[string]any{
		"id": uuid.NewString(), "event": name, "occurred": time.Now().UTC(), "resource": map[string]string{"orch.resource.id": resource},
	}
}

func (p *poisoned) eventually(condition func() bool) {
	p.Helper()
	require.Eventually(p, condition, 2*time.Minute, 20*time.Millisecond)
}

// count is how many events of a name are stored; -1 when there is no answer.
func (p *poisoned) count(name string) int { return p.client.countEvents(p.Context(), p.orch, name) }

// once checks that no event of a name is stored twice.
func (p *poisoned) once(name string) {
	p.Helper()
	all, err := p.client.events(p.Context(), p.orch, name)
	require.NoError(p, err)
	seen := map[string]bool{}
	for _, e := range all {
		resource := e.Resource["orch.resource.id"]
		require.False(p, seen[resource], "%s of %s twice", name, resource)
		seen[resource] = true
	}
}

// deadLetter is what `orch dead-letters ls --output json` prints of one.
type deadLetter struct {
	ID, Source, Kind, Reason string
	EventID                  string `json:"event_id"`
	Blocking                 bool
}

// cli runs a command of the command line against the server.
func (p *poisoned) cli(args ...string) (string, error) {
	command := exec.CommandContext(p.Context(), programs.Path("orch"), args...)
	command.Env = append(os.Environ(), "ORCH_API_URL="+p.orch.API(), "HOME="+p.TempDir())
	out, err := command.CombinedOutput()
	return string(out), err
}

func (p *poisoned) deadLetters() []deadLetter {
	p.Helper()
	out, err := p.cli("dead-letters", "ls", "--output", "json")
	require.NoError(p, err, out)
	var letters []deadLetter
	require.NoError(p, json.Unmarshal([]byte(out), &letters), out)
	require.NotContains(p, out, secretText)
	return letters
}

// inspect checks that everything poisoned is a dead letter with its reason, and that it cannot be retried as it is.
func (p *poisoned) inspect() {
	var letters []deadLetter
	p.eventually(func() bool { letters = p.deadLetters(); return len(letters) == len(effectKinds)+4 })
	effects, frames, refused := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, letter := range letters {
		require.NotEmpty(p, letter.Reason, letter)
		switch {
		case letter.Source == "outbox":
			effects[letter.Kind] = true
			require.Equal(p, letter.Kind == "unknown kind", strings.Contains(letter.Reason, "no handler registered"), letter)
			out, err := p.cli("dead-letters", "retry", letter.ID)
			require.Error(p, err, "an effect that is not mended")
			require.Contains(p, out, "failed again")
			require.NotContains(p, out, secretText)
		case letter.EventID == p.refused:
			refused[letter.Kind] = true
			require.Contains(p, letter.Reason, "parallel arrays")
		default:
			frames[letter.Kind] = true
		}
	}
	require.Len(p, effects, len(effectKinds))
	consumers := map[string]bool{"persist": true, "automations": true}
	require.Equal(p, consumers, frames)
	require.Equal(p, consumers, refused)
}

// mend removes what refuses the event, and retries its dead letters: the event is stored and counted once. The others are
// discarded.
func (p *poisoned) mend() {
	p.maintain(func(db *mongo.Database, _ jetstream.JetStream) {
		for _, collection := range []string{"event", "automation_bucket"} {
			require.NoError(p, db.Collection(collection).Indexes().DropOne(p.Context(), refusing))
		}
		cursor, err := db.Collection("dead_letter").Find(p.Context(), bson.D{})
		require.NoError(p, err)
		var stored []bson.Raw
		require.NoError(p, cursor.All(p.Context(), &stored))
		require.Len(p, stored, len(effectKinds))
		for _, letter := range stored {
			require.NotContains(p, string(letter), secretText, "a dead letter holds a secret in the clear")
		}
	})
	p.post("/events", []any{event1("poison.pair", "pair")}, nil)
	for _, letter := range p.deadLetters() {
		if letter.EventID == p.refused {
			out, err := p.cli("dead-letters", "retry", letter.ID)
			require.NoError(p, err, out)
			continue
		}
		out, err := p.cli("dead-letters", "discard", "--yes", letter.ID)
		require.NoError(p, err, out)
	}
	p.eventually(func() bool { return p.count("poison.pair") == 2 && p.count("orch.automation.triggered") == 1 })
	require.Empty(p, p.deadLetters())
	p.stop()
	if _, err := os.Stat(filepath.Join(p.dataDir, "orch.json")); err != nil {
		return // Doctor checks the directories of `orch server`.
	}
	out, err := p.cli("doctor", "--data-dir", p.dataDir)
	require.NoError(p, err, out)
	require.Contains(p, out, "no effect failed permanently")
}

func bsonUUID(id uuid.UUID) bson.Binary {
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}
}
