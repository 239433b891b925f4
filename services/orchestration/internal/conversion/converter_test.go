package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestEveryCollectionHasAType(t *testing.T) {
	t.Parallel()
	for _, collection := range query.Collections() {
		if collection != query.DeadLetter {
			require.Contains(t, messages, collection)
		}
	}
}

// world is a database with documents.
type world struct {
	store *store.Store
	keys  secrets.Keyring
	ws    uuid.UUID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	keys, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	w := &world{store: storetest.New(t, clock.System{}), keys: keys, ws: uuid.New()}
	require.NoError(t, w.store.Claim(t.Context(), vocabulary.Orch))
	return w
}

// insert stores a message with effects.
func (w *world) insert(ctx context.Context, t require.TestingT, collection query.Collection, m proto.Message, effects ...store.Effect) {
	require.NoError(t, store.NewCollection(w.store, collection, m).Insert(ctx, w.ws, m, effects...))
}

// convert converts, and reports to out.
func (w *world) convert(ctx context.Context, to vocabulary.Vocabulary, out io.Writer, progress func(string, int64, int64)) error {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	return New(Config{Store: w.store, Keys: w.keys, To: to, Report: NewReport(out), Progress: progress}).Convert(ctx)
}

// contents are all documents but leases, sealed texts in plain.
func (w *world) contents(ctx context.Context, t require.TestingT) map[string][]string {
	all := map[string][]string{}
	names, err := w.store.Database().ListCollectionNames(ctx, bson.D{})
	require.NoError(t, err)
	for _, name := range names {
		cursor, err := w.store.Database().Collection(name).Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		require.NoError(t, err)
		for cursor.Next(ctx) {
			doc := cursor.Current
			if _, sealed, ok := doc.Lookup("body").BinaryOK(); ok && name == string(query.DeadLetter) {
				d, err := newDocument(query.DeadLetter, doc)
				require.NoError(t, err)
				body, err := w.keys.Open(secrets.FieldRef{Workspace: d.workspace, Document: d.uuid, Field: "dead_letter.body"}, sealed)
				require.NoError(t, err)
				all[name] = append(all[name], string(body))
				continue
			}
			all[name] = append(all[name], doc.String())
		}
		require.NoError(t, cursor.Err())
	}
	return all
}

func labels(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// firing is an automation's action with a firing whose key has two labels.
func (w *world) firing(t *testing.T) *orchv1.AutomationActionRun {
	t.Helper()
	a := &orchv1.Automation{Id: uuid.NewString(), Name: "a", Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
		Id: uuid.NewString(), Expect: []string{"orch.flow-run.Failed"}, ForEach: []string{"owner", "orch.resource.id"}, Posture: orchv1.Posture_POSTURE_REACTIVE,
	}}}}
	return &orchv1.AutomationActionRun{
		Id: uuid.NewString(), Automation: a, Action: &orchv1.Action{Kind: &orchv1.Action_DoNothing{DoNothing: &orchv1.DoNothing{}}},
		Firing: &orchv1.AutomationFiring{
			Id: uuid.NewString(), TriggerId: a.GetTrigger().GetEvent().GetId(), Key: []string{"orch.flow.1", "me"},
			Labels: labels("orch.resource.id", "orch.flow.1", "owner", "me"),
		},
	}
}

func TestPendingEffectsDeadLettersAndBuckets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t)
	event := events.Lifecycle{ID: uuid.New(), Kind: "flow", Verb: "created", Of: uuid.New(), Name: "f", At: time.Now()}.Event(vocabulary.Orch)
	effect, err := events.Publish(w.ws, event)
	require.NoError(t, err)
	effect.Body, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(w.ws[:], event)
	require.NoError(t, err)
	w.insert(ctx, t, query.Flow, &orchv1.Flow{Id: uuid.NewString(), Name: "f"}, effect, w.store.ResourceEffect("other", w.ws, uuid.New()))
	w.insert(ctx, t, query.WorkQueue, &orchv1.WorkQueue{Id: uuid.NewString(), Name: "of a collection without names", WorkPoolId: proto.String(uuid.NewString())}, effect)

	run := w.firing(t)
	w.insert(ctx, t, query.AutomationAction, run)
	w.insert(ctx, t, query.Automation, run.GetAutomation())
	letter := store.DeadLetter{ID: uuid.New(), Kind: action.KindAction, Collection: query.AutomationAction, Workspace: w.ws, At: time.Now(), FailedAt: time.Now()}
	carrying, err := store.MessageEffect(action.KindAction, letter.ID, letter.At, w.ws, run)
	require.NoError(t, err)
	letter.Body, err = w.keys.Seal(secrets.FieldRef{Workspace: w.ws, Document: letter.ID, Field: "dead_letter.body"}, carrying.Body)
	require.NoError(t, err)
	require.NoError(t, w.store.InsertDeadLetter(ctx, letter))

	triggerID := uuid.MustParse(run.GetFiring().GetTriggerId())
	before := trigger.BucketID(triggerID, []string{"orch.flow.1", "me"})
	w.insert(ctx, t, query.AutomationBucket, &orchv1.AutomationBucket{
		Id: before.String(), AutomationId: run.GetAutomation().GetId(), TriggerId: triggerID.String(), Key: []string{"orch.flow.1", "me"}, Count: 2,
	})

	original := w.contents(ctx, t)
	require.NoError(t, w.convert(ctx, vocabulary.Prefect, io.Discard, nil))
	for name, docs := range w.contents(ctx, t) {
		if name != "meta" && name != exceptionsName {
			require.NotContains(t, strings.Join(docs, "\n"), "orch.", name)
		}
	}
	// The labels sort as "owner", "prefect.resource.id".
	bucket, err := store.NewCollection(w.store, query.AutomationBucket, &orchv1.AutomationBucket{}).Get(ctx, w.ws, trigger.BucketID(triggerID, []string{"me", "prefect.flow.1"}))
	require.NoError(t, err)
	require.Equal(t, []string{"me", "prefect.flow.1"}, bucket.GetKey())
	require.Equal(t, int64(2), bucket.GetCount())
	_, err = store.NewCollection(w.store, query.AutomationBucket, &orchv1.AutomationBucket{}).Get(ctx, w.ws, before)
	require.ErrorIs(t, err, store.ErrNotFound)
	stored, err := w.store.DeadLetter(ctx, letter.ID)
	require.NoError(t, err)
	body, err := w.keys.Open(secrets.FieldRef{Workspace: w.ws, Document: letter.ID, Field: "dead_letter.body"}, stored.Body)
	require.NoError(t, err)
	after := &orchv1.AutomationActionRun{}
	_, err = store.Effect{Body: body}.DecodeMessage(after)
	require.NoError(t, err)
	require.Equal(t, []string{"me", "prefect.flow.1"}, after.GetFiring().GetKey())

	require.NoError(t, w.convert(ctx, vocabulary.Orch, io.Discard, nil))
	back := w.contents(ctx, t)
	delete(original, string(query.DeadLetter)) // The encoding of maps in the body has no order.
	delete(back, string(query.DeadLetter))
	require.Equal(t, original, back)
}

// names are texts that a document may hold where a name of the server can stand.
var names = []string{
	"orch.flow-run.Completed", "prefect.flow-run.Completed", "orch.resource.id", "prefect.resource.id", "orch.mine", "orchestra.x", "prefect", "orch.*",
	"prefect.*", "orch-cloud.webhook.1", "x", "__orch_kind", "__prefect_kind", "orch.resource.name", "owner",
}

func drawnLabels(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom(names), rapid.SampledFrom(names), 1, 6).Draw(t, "labels")
}

// drawn is a document with names of both vocabularies.
func drawn(t *rapid.T) (query.Collection, proto.Message) {
	id, name := uuid.NewString(), rapid.SampledFrom(names)
	list := rapid.SliceOfNDistinct(name, 0, 6, rapid.ID[string])
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		payload, err := json.Marshal(map[string]any{"triggering_labels": drawnLabels(t), name.Draw(t, "key"): name.Draw(t, "value")})
		require.NoError(t, err)
		return query.Event, &orchv1.ReceivedEvent{
			Id: id, Event: rapid.SampledFrom([]string{"orch.automation.triggered", "prefect.automation.triggered", "mine"}).Draw(t, "event"), Payload: payload,
			Resource: &orchv1.Resource{Labels: drawnLabels(t)}, Related: []*orchv1.RelatedResource{{Labels: drawnLabels(t)}},
			ResourceId: name.Draw(t, "id"), ResourceIds: list.Draw(t, "ids"),
		}
	case 1:
		return query.Automation, &orchv1.Automation{
			Id: id, Name: "a", Actions: []*orchv1.Action{{Kind: &orchv1.Action_CallWebhook{CallWebhook: &orchv1.CallWebhook{
				BlockDocumentId: id, Payload: fmt.Sprintf("%s {{ event.resource[%q] }}", name.Draw(t, "text"), name.Draw(t, "label")),
			}}}},
			Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
				Id: id, Expect: list.Draw(t, "expect"), After: list.Draw(t, "after"), ForEach: list.Draw(t, "for_each"), Posture: orchv1.Posture_POSTURE_REACTIVE,
			}}},
		}
	case 2:
		return query.Webhook, &orchv1.Webhook{
			Id: id, Name: "w", Slug: id, Template: fmt.Sprintf(`{"event": %q, %q: {{ %q }}, "payload": %q}`,
				name.Draw(t, "event"), name.Draw(t, "key"), name.Draw(t, "literal"), name.Draw(t, "payload")),
		}
	}
	return query.Deployment, &orchv1.Deployment{
		Id: id, Name: id, Parameters: fmt.Appendf(nil, `{ "a": {%q: %q}}`, name.Draw(t, "key"), name.Draw(t, "value")),
		Labels: map[string]*orchv1.Scalar{name.Draw(t, "label"): {Kind: &orchv1.Scalar_StringValue{StringValue: name.Draw(t, "value")}}},
	}
}

var errInterrupted = errors.New("interrupted")

func TestConversionOfAnyDocumentsThereAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		for name := range w.contents(ctx, rt) {
			if name != "meta" {
				_, err := w.store.Database().Collection(name).DeleteMany(ctx, bson.D{})
				require.NoError(rt, err)
			}
		}
		for range rapid.IntRange(1, 5).Draw(rt, "documents") {
			collection, m := drawn(rt)
			w.insert(ctx, rt, collection, m)
		}
		before := w.contents(ctx, rt)
		require.NoError(rt, w.convert(ctx, vocabulary.Prefect, io.Discard, nil))
		// The way back is interrupted, at each step once more.
		interruptions := rapid.IntRange(0, 20).Draw(rt, "interruptions")
		for step := 1; step <= interruptions; step++ {
			steps := 0
			interrupted, interrupt := context.WithCancelCause(ctx)
			err := w.convert(interrupted, vocabulary.Orch, io.Discard, func(string, int64, int64) {
				if steps++; steps == step {
					interrupt(errInterrupted)
				}
			})
			interrupt(nil)
			if err == nil {
				break
			}
		}
		mark, err := w.store.Vocabulary(ctx)
		require.NoError(rt, err)
		if mark != vocabulary.Orch.String() {
			require.NoError(rt, w.convert(ctx, vocabulary.Orch, io.Discard, nil))
		}
		after := w.contents(ctx, rt)
		for name, docs := range before {
			require.Equal(rt, strings.Join(docs, "\n"), strings.Join(after[name], "\n"), name)
		}
	})
}

func TestServerRefusesAConversionUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(t.Context(), t, query.Flow, &orchv1.Flow{Id: uuid.NewString(), Name: "f"})
	ctx, interrupt := context.WithCancel(t.Context())
	require.Error(t, w.convert(ctx, vocabulary.Prefect, io.Discard, func(string, int64, int64) { interrupt() }))
	for _, v := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		err := w.store.Claim(t.Context(), v)
		require.ErrorIs(t, err, store.ErrFormat)
		require.ErrorContains(t, err, "orch vocabulary convert --to prefect")
	}
	require.NoError(t, w.convert(t.Context(), vocabulary.Prefect, io.Discard, nil))
	require.NoError(t, w.store.Claim(t.Context(), vocabulary.Prefect))
}

func TestReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.insert(ctx, t, query.Webhook, &orchv1.Webhook{Id: uuid.NewString(), Name: "gh", Slug: "s", Template: `{"event": "orch.{{ x }}", "resource": {"orch.resource.id": "a"}}`})
	w.insert(ctx, t, query.Flow, &orchv1.Flow{Id: uuid.NewString(), Name: "f"})
	var dry, out bytes.Buffer
	report := NewReport(&dry)
	before := w.contents(ctx, t)
	require.NoError(t, New(Config{Store: w.store, Keys: w.keys, To: vocabulary.Prefect, Report: report, Progress: func(string, int64, int64) {}}).Survey(ctx))
	require.NoError(t, report.Print())
	require.Equal(t, before, w.contents(ctx, t), "a survey changes nothing")

	report = NewReport(&out)
	require.NoError(t, New(Config{Store: w.store, Keys: w.keys, To: vocabulary.Prefect, Report: report, Progress: func(string, int64, int64) {}}).Convert(ctx))
	require.NoError(t, report.Print())
	require.Equal(t, dry.String(), out.String())
	for _, line := range []string{"template: orch.resource.id -> prefect.resource.id", "template: left alone: orch.: " + leftBuilt} {
		require.Contains(t, out.String(), line)
	}
	lines := strings.Split(out.String(), "\n")
	webhooks := lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "webhook  ") })]
	require.Equal(t, []string{"webhook", "1", "1", "1"}, strings.Fields(webhooks))
}
