package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddednats"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// firing is an engine with a broker, whose workspaces have an automation that fires at each event "go".
type firing struct {
	*crowd
	deps Deps
}

func newFiring(t *testing.T) *firing {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	c := clock.NewManual(noon)
	deps := Deps{
		Store: storetest.Embedded(t, c), Broker: conn, Vocabulary: vocabulary.Orch, Log: log,
		Account: func(context.Context, uuid.UUID) (uuid.UUID, error) { return uuid.Nil, nil },
	}
	return &firing{&crowd{TB: t, Engine: New(deps), clock: c}, deps}
}

// workspace returns a workspace with an automation that fires at each event "go".
func (f *firing) workspace() uuid.UUID {
	f.Helper()
	ws := uuid.New()
	_, err := store.InsertAll(f.Context(), f.automations, ws, []*orchv1.Automation{{
		Id: uuid.NewString(), Name: "a", Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
			Id: uuid.NewString(), Expect: []string{"go"}, Threshold: 1, Posture: orchv1.Posture_POSTURE_REACTIVE,
		}}},
		Actions: []*orchv1.Action{{Kind: &orchv1.Action_DoNothing{DoNothing: &orchv1.DoNothing{}}}},
	}})
	require.NoError(f, err)
	return ws
}

func (f *firing) send(ws uuid.UUID, e *orchv1.ReceivedEvent) broker.Event {
	f.Helper()
	sent, err := wire.ToBroker(f.Vocabulary, e, ws)
	require.NoError(f, err)
	require.True(f, sent.Fits(), "the event itself is accepted")
	return sent
}

// fired is how many action runs a workspace has.
func (f *firing) fired(ws uuid.UUID) int {
	f.Helper()
	n, err := f.actions.Count(f.Context(), ws, store.Query{})
	require.NoError(f, err)
	return int(n)
}

// damage makes documents of a workspace such as a newer version would write. Restore mends them.
func (f *firing) damage(ws uuid.UUID, c query.Collection, field string) (restore func()) {
	f.Helper()
	update := func(filter bson.D, operator string, change bson.D) {
		require.NoError(f, f.Store.UpdateMany(f.Context(), c, ws, filter, bson.D{{Key: operator, Value: change}}))
	}
	update(bson.D{}, "$rename", bson.D{{Key: field, Value: "kept"}})
	update(bson.D{}, "$set", bson.D{{Key: field, Value: "of a newer version"}})
	return func() {
		damaged := bson.D{{Key: "kept", Value: bson.D{{Key: "$exists", Value: true}}}}
		update(damaged, "$unset", bson.D{{Key: field, Value: ""}})
		update(damaged, "$rename", bson.D{{Key: "kept", Value: field}})
	}
}

// payloadOf is the payload of the event that says that an automation fired at an event.
func payloadOf(t *testing.T, reason *orchv1.ReceivedEvent, labels map[string]string) (size int, payload map[string]any) {
	t.Helper()
	f := &orchv1.AutomationFiring{Id: uuid.NewString(), Event: reason, Labels: labels}
	sent, err := Triggered(vocabulary.Orch, &orchv1.Automation{Id: uuid.NewString(), Name: "a"}, f, noon, uuid.New())
	require.NoError(t, err)
	require.True(t, sent.Fits())
	event, _, err := wire.FromBroker(sent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(event.GetPayload(), &payload))
	return len(sent.Data), payload
}

func TestTheEventOfAFiringAlwaysFits(t *testing.T) {
	t.Parallel()
	text := func(n int) map[string]any { return map[string]any{"text": strings.Repeat("x", n)} }
	encode := func(v any) []byte { b, err := json.Marshal(v); require.NoError(t, err); return b }
	for name, test := range map[string]struct {
		change  func(e *orchv1.ReceivedEvent)
		labels  map[string]string
		omitted []any
	}{
		"a small event":         {change: func(*orchv1.ReceivedEvent) {}},
		"a payload that fits":   {change: func(e *orchv1.ReceivedEvent) { e.Payload = encode(text(1_200_000)) }},
		"markup":                {change: func(e *orchv1.ReceivedEvent) { e.Payload = []byte(`{"body":"` + strings.Repeat("<", 1_300_000) + `"}`) }},
		"a payload that cannot": {change: func(e *orchv1.ReceivedEvent) { e.Payload = encode(text(1_499_950)) }, omitted: []any{"payload"}},
		"related resources": {change: func(e *orchv1.ReceivedEvent) {
			for range 12 {
				e.Related = append(e.Related, &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": "r", "orch.resource.role": "x", "text": strings.Repeat("x", 131_072)}})
			}
		}, omitted: []any{"payload", "related"}},
		"one label of 1.4 MB": {change: func(e *orchv1.ReceivedEvent) {
			e.Resource.Labels["text"] = strings.Repeat("\x01", 280_000)
		}, omitted: []any{"payload", "related", "labels"}},
		"labels of keys":       {change: func(*orchv1.ReceivedEvent) {}, labels: map[string]string{"k": strings.Repeat("x", 1_500_000)}, omitted: []any{"payload", "related", "labels"}},
		"an id of 1.4 million": {change: func(e *orchv1.ReceivedEvent) { e.Resource.Labels["orch.resource.id"] = strings.Repeat("\x01", 280_000) }, omitted: []any{"payload", "related", "labels", "event"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason := goEvent(uuid.New())
			test.change(reason)
			size, payload := payloadOf(t, reason, test.labels)
			require.LessOrEqual(t, size, broker.MaxEventBytes)
			if test.omitted == nil {
				require.NotContains(t, payload, "omitted")
				return
			}
			require.Equal(t, test.omitted, payload["omitted"])
			if len(test.omitted) == len(omissions) {
				require.Nil(t, payload["triggering_event"])
				return
			}
			require.Equal(t, reason.GetId(), payload["triggering_event"].(map[string]any)["id"])
		})
	}
}

// One event within all limits, whose firing would be larger than an event may be, must not stop the others, nor a replica that takes
// over.
func TestALargeEventFiresAndStopsNobody(t *testing.T) {
	t.Parallel()
	f := newFiring(t)
	large, other := f.workspace(), f.workspace()
	require.NoError(t, f.prepare(t.Context()))
	markup := goEvent(uuid.New())
	markup.Payload = append(append([]byte(`{"body":"`), bytes.Repeat([]byte("<"), 1_499_000)...), `"}`...)
	label := goEvent(uuid.New())
	label.Resource.Labels["text"] = strings.Repeat("\x01", 240_000)
	batch := []broker.Event{f.send(large, markup), f.send(large, label), f.send(other, goEvent(uuid.New()))}
	require.NoError(t, f.handle(t.Context(), batch))
	require.Equal(t, 2, f.fired(large))
	require.Equal(t, 1, f.fired(other))
	require.NoError(t, New(f.deps).prepare(t.Context()))
}

// A workspace whose documents were written by a newer version waits in quarantine. The others go on, in this replica and in one that
// takes over, and nothing of the workspace is lost when its documents are readable again.
func TestAWorkspaceThatFailsIsPutAside(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		collection query.Collection
		field      string
	}{
		"a bucket":      {query.AutomationBucket, "count"},
		"an automation": {query.Automation, "trigger"},
		"a held event":  {query.AutomationHold, "event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFiring(t)
			damaged, other := f.workspace(), f.workspace()
			require.NoError(t, f.prepare(t.Context()))
			follower := goEvent(uuid.New())
			follower.Follows = new(uuid.NewString())
			require.NoError(t, f.handle(t.Context(), []broker.Event{f.send(damaged, goEvent(uuid.New())), f.send(damaged, follower)}))
			require.Equal(t, 1, f.fired(damaged))
			restore := f.damage(damaged, test.collection, test.field)

			next := &firing{&crowd{TB: t, Engine: New(f.deps), clock: f.clock}, f.deps}
			require.NoError(t, next.prepare(t.Context()), "a replica takes over")
			for range 2 {
				require.NoError(t, next.handle(t.Context(), []broker.Event{next.send(damaged, goEvent(uuid.New())), next.send(other, goEvent(uuid.New()))}))
			}
			require.Equal(t, 2, next.fired(other))
			require.Equal(t, 1, next.fired(damaged))
			require.Equal(t, 1, int(testutil.ToFloat64(next.Metrics.quarantined)))

			restore()
			f.clock.Advance(lastRetry)
			tenant := next.evaluator(damaged)
			require.NoError(t, tenant.attempt(t.Context(), tenant.begin))
			for more := true; more; {
				var err error
				more, err = tenant.evaluateBacklog(t.Context())
				require.NoError(t, err)
			}
			require.Equal(t, 3, next.fired(damaged), "the events that waited are evaluated")
			tenant.succeeded(t.Context())
			require.Zero(t, int(testutil.ToFloat64(next.Metrics.quarantined)))
		})
	}
}

// A bucket retains what it could not pass on. If that can never be passed on, it becomes a dead letter, so the bucket is usable again.
func TestAFiringThatCannotBeStoredBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	f := newFiring(t)
	ws := f.workspace()
	require.NoError(t, f.prepare(t.Context()))
	child := func() *orchv1.AutomationFiring {
		reason := goEvent(uuid.New())
		reason.Payload = []byte(`{"text":"` + strings.Repeat("x", 1_400_000) + `"}`)
		return &orchv1.AutomationFiring{Id: uuid.NewString(), Event: reason}
	}
	large := child()
	for range 12 { // More than a document may have.
		large.Children = append(large.Children, child())
	}
	a, small := everyGo(t, ws), &orchv1.AutomationFiring{Id: uuid.NewString(), Event: goEvent(uuid.New())}
	a.Message.Actions = []*orchv1.Action{{Kind: &orchv1.Action_DoNothing{DoNothing: &orchv1.DoNothing{}}}}
	require.NoError(t, f.Emit(t.Context(), []trigger.RootFiring{{Automation: a, Firing: large}, {Automation: a, Firing: small}}))
	require.Equal(t, 1, f.fired(ws))
	letters, err := f.Broker.DeadLetters(t.Context(), broker.DurableAutomations, 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, "orch.automation.triggered", letters[0].Event.Type)
	require.Contains(t, letters[0].Reason, a.ID.String())
}

// A workspace whose reads always exceed their time limit has its events redelivered twice. Then they wait, and the others go on.
func TestAWorkspaceThatIsAlwaysSlowIsPutAside(t *testing.T) {
	t.Parallel()
	f := newFiring(t)
	tenant := f.evaluator(uuid.New())
	for range maxOutages - 1 {
		require.False(t, tenant.failed(t.Context(), store.ErrUnavailable))
	}
	tenant.succeeded(t.Context())
	for range maxOutages - 1 {
		require.False(t, tenant.failed(t.Context(), store.ErrUnavailable))
	}
	require.True(t, tenant.failed(t.Context(), store.ErrUnavailable))
	wait := func() time.Duration { wait, in := tenant.quarantinedFor(f.now()); require.True(t, in); return wait }
	require.Equal(t, firstRetry, wait())
	for range 100 {
		require.True(t, tenant.failed(t.Context(), store.ErrUnavailable))
	}
	require.Equal(t, lastRetry, wait())
}

// Firings that are committed and not passed on yet end with their automation, and with their workspace. The firings of the others are
// passed on.
func TestFiringsOfDeletedAutomationsEnd(t *testing.T) {
	t.Parallel()
	f := newFiring(t)
	deletedAutomation, deletedWorkspace, other := f.workspace(), f.workspace(), f.workspace()
	for _, ws := range []uuid.UUID{deletedAutomation, deletedWorkspace, other} {
		all, err := f.automations.Find(t.Context(), ws, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}})
		require.NoError(t, err)
		leaf := all[0].GetTrigger().GetEvent().GetId()
		_, err = store.InsertAll(t.Context(), f.buckets, ws, []*orchv1.AutomationBucket{{
			Id: trigger.BucketID(uuid.MustParse(leaf), nil).String(), AutomationId: all[0].GetId(), TriggerId: leaf, Unsettled: new(true),
			Pending: []*orchv1.AutomationFiring{{Id: uuid.NewString(), Event: goEvent(uuid.New()), Triggered: noon.UnixMicro()}},
		}})
		require.NoError(t, err)
	}
	require.NoError(t, f.automations.DeleteMany(t.Context(), deletedAutomation, bson.D{}))
	emptied := []query.Collection{query.Automation, query.AutomationHold, query.AutomationAction} // A firing may be committed afterwards.
	require.NoError(t, f.Store.Clear(t.Context(), deletedWorkspace, emptied))
	require.NoError(t, f.prepare(t.Context()))
	require.Zero(t, f.fired(deletedAutomation))
	require.Zero(t, f.fired(deletedWorkspace))
	require.Equal(t, 1, f.fired(other))
	left := 0
	require.NoError(t, f.buckets.EachAcross(t.Context(), store.Query{Filter: bson.D{{Key: "unsettled", Value: true}}}, func(uuid.UUID, *orchv1.AutomationBucket) error {
		left++
		return nil
	}))
	require.Zero(t, left)
}
