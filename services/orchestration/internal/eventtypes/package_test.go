package eventtypes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/conformance"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a replica of the service on a store, with a clock of the test.
type world struct {
	*Service
	t     testing.TB
	clock *clock.Manual
	db    *store.Store
	ws    uuid.UUID
}

func newWorld(t testing.TB) *world {
	t.Helper()
	c := clock.NewManual(noon)
	return newWorldOn(t, storetest.New(t, c), c, uuid.New())
}

func newWorldOn(t testing.TB, db *store.Store, c *clock.Manual, ws uuid.UUID) *world {
	t.Helper()
	none := func(context.Context, uuid.UUID, string) (time.Time, error) { return time.Time{}, nil }
	violations := func(context.Context, uuid.UUID, string, int64) (int64, error) { return 0, nil }
	s := New(Deps{Store: db, Vocabulary: vocabulary.Orch, LastOccurred: none, CountWith: violations})
	return &world{Service: s, t: t, clock: c, db: db, ws: ws}
}

// replica is another replica.
func (w *world) replica() *world { return newWorldOn(w.t, w.db, w.clock, w.ws) }

// observe observes events of a name with payloads, as the consumer of events does.
func (w *world) observe(name string, payloads ...string) {
	w.t.Helper()
	require.NoError(w.t, w.Prepare(w.t.Context(), []broker.Event{{Workspace: w.ws, Type: name}}))
	for _, payload := range payloads {
		w.Observe(w.ws, name, []byte(payload), w.clock.Now())
	}
}

func (w *world) ctx() context.Context { return requesttest.Incoming(w.t, w.ws) }

// all returns the event types by name.
func (w *world) all() map[string]*orchv1.EventType {
	w.t.Helper()
	list, err := w.ReadEventTypes(w.ctx(), &orchv1.ReadEventTypesRequest{})
	require.NoError(w.t, err)
	byName := map[string]*orchv1.EventType{}
	for _, one := range list.GetEventTypes() {
		byName[one.GetName()] = one
	}
	return byName
}

func (w *world) recorded() map[string]*orchv1.EventType {
	w.t.Helper()
	w.Record(w.t.Context())
	return w.all()
}

func TestANameIsStoredBeforeItsEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{"id":1}`)
	before := w.all()["order.paid"]
	require.Equal(t, noon, before.GetFirstSeen().AsTime())
	require.Nil(t, before.Schema)
	require.JSONEq(t, `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, string(w.recorded()["order.paid"].GetSchema()))
	require.Empty(t, newWorldOn(t, w.db, w.clock, uuid.New()).all(), "another workspace")
}

func TestReplicasAndRedeliveriesLeadToOneSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica()
	var group sync.WaitGroup
	for i, replica := range []*world{w, other} {
		group.Go(func() {
			for range 2 { // Events are delivered at least once.
				replica.observe("order.paid", fmt.Sprintf(`{"id":1,"from%d":"x"}`, i))
				replica.Record(t.Context())
			}
		})
	}
	group.Wait()
	found := w.all()
	require.Len(t, found, 1)
	require.JSONEq(t, `{"type":"object","properties":{"id":{"type":"integer"},"from0":{"type":"string"},"from1":{"type":"string"}},"required":["id"]}`,
		string(found["order.paid"].GetSchema()))
	require.Equal(t, found["order.paid"].GetId(), other.all()["order.paid"].GetId())
}

func TestAKnownSampleWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{"id":1}`)
	before := w.recorded()["order.paid"]
	w.clock.Advance(storedEvery - time.Second)
	w.observe("order.paid", `{"id":2}`)
	require.Empty(t, w.register.take(w.clock.Now()))
	w.clock.Advance(time.Second)
	w.observe("order.paid", `{"id":3}`)
	after := w.recorded()["order.paid"]
	require.Equal(t, noon.Add(storedEvery), after.GetLastSeen().AsTime())
	require.Equal(t, before.GetUpdated().AsTime(), after.GetUpdated().AsTime(), "the schema did not change")
	require.Equal(t, noon.Add(storedEvery+unseenAfter).UnixMicro(), after.GetExpires())
}

func TestNoSampleForInvalidAndLargePayloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := `{"text":"` + string(make([]byte, maxSampled)) + `"}`
	w.observe("order.paid", `{`, large)
	require.Nil(t, w.recorded()["order.paid"].Schema)
	w.observe("order.paid", `{}`)
	require.JSONEq(t, `{"type":"object"}`, string(w.recorded()["order.paid"].GetSchema()))
}

func TestSamplesOfASecondAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	half := `{"text":"` + fmt.Sprintf("%0*d", maxSampled/2, 1) + `"}`
	w.observe("order.paid", half, `{"b":1}`, half)
	require.JSONEq(t, `{"type":"object","properties":{"text":{"type":"string"},"b":{"type":"integer"}}}`, string(w.recorded()["order.paid"].GetSchema()))
	w.observe("order.paid", `{"c":"`+fmt.Sprintf("%0*d", maxSampled/2, 1)+`"}`)
	require.NotContains(t, string(w.recorded()["order.paid"].GetSchema()), `"c"`)
	w.clock.Advance(time.Second)
	w.observe("order.paid", `{"c":1}`)
	require.Contains(t, string(w.recorded()["order.paid"].GetSchema()), `"c"`)

	for i := range eagerSamples + 1 {
		w.observe("order.sent", fmt.Sprintf(`{"n%d":1}`, i%2))
	}
	w.observe("order.sent", `{"late":1}`)
	require.NotContains(t, string(w.recorded()["order.sent"].GetSchema()), "late")
	w.clock.Advance(sampleEvery)
	w.observe("order.sent", `{"late":1}`)
	require.Contains(t, string(w.recorded()["order.sent"].GetSchema()), "late")
}

func TestAWorkspaceHasABoundedNumberOfNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := make([]broker.Event, maxTypes+10)
	for i := range batch {
		batch[i] = broker.Event{Workspace: w.ws, Type: fmt.Sprintf("order.%04d", i)}
	}
	batch = append(batch, broker.Event{Workspace: w.ws, Type: string(make([]byte, maxName+1))})
	count := func() int64 {
		n, err := w.CountEventTypes(w.ctx(), &orchv1.CountEventTypesRequest{})
		require.NoError(t, err)
		return n.GetCount()
	}
	for range 2 {
		require.NoError(t, w.Prepare(t.Context(), batch))
		require.EqualValues(t, maxTypes, count())
	}
	list, err := w.ReadEventTypes(w.ctx(), &orchv1.ReadEventTypesRequest{Query: &orchv1.EventTypeQuery{Limit: &orchv1.PageLimit{Value: 1}}})
	require.NoError(t, err)
	_, err = w.DeleteEventType(w.ctx(), &orchv1.DeleteEventTypeRequest{Id: list.GetEventTypes()[0].GetId()})
	require.NoError(t, err)
	w.clock.Advance(fullFor)
	w.observe("order.late")
	require.EqualValues(t, maxTypes, count())
	found, err := w.types.Count(t.Context(), w.ws, store.Query{Filter: bson.D{{Key: "name", Value: "order.late"}}})
	require.NoError(t, err)
	require.EqualValues(t, 1, found)
}

func TestMemoryOfAWorkspaceIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, name := 0, ""
	testkit.FillBound(t, "names, samples and pinned schemas of the events of a workspace", maxRegisterBytes, func() bool {
		if n%20 == 0 {
			name = fmt.Sprintf("order.%d", n)
			w.observe(name)
		}
		n++
		w.clock.Advance(time.Second)
		before := w.register.workspaces[w.ws].bytes
		var members strings.Builder
		for i := range 20 {
			fmt.Fprintf(&members, `"%0*d":1,`, maxMemberName, n*20+i)
		}
		w.Observe(w.ws, name, fmt.Appendf(nil, `{"p%d":{%s"last":1}}`, n%20, members.String()), w.clock.Now())
		return w.register.workspaces[w.ws].bytes == before
	}, func() int { return w.register.workspaces[w.ws].bytes })
}

// maxMemberName is the length of the longest name of a property.
const maxMemberName = 128

// Names that are deleted and begin again elsewhere take no memory without a bound.
func TestMemoryOfDeletedNamesIsBounded(t *testing.T) {
	t.Parallel()
	r, ws := newRegister(), uuid.New()
	for i := range 2 * maxRegisterBytes / (entrySize + maxName) {
		r.put(ws, fmt.Sprintf("%0*d", maxName, i), uuid.New(), noon, 0, noon)
		require.LessOrEqual(t, r.workspaces[ws].bytes, maxRegisterBytes)
	}
	require.Less(t, len(r.workspaces[ws].entries), maxRegisterBytes/(entrySize+maxName)+1)
	r.take(noon.Add(idleAfter))
	require.Empty(t, r.workspaces)
}

// A read that began before an event type changed may have the older one, so it is not fresh.
func TestAReadInFlightDoesNotHideAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		began time.Time
		fresh bool
	}{
		"read before the change": {noon, false},
		"read at its time":       {noon.Add(time.Second), false},
		"read after the change":  {noon.Add(2 * time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ws, id := newRegister(), uuid.New(), uuid.New()
			r.invalidate(ws, "order.paid", noon.Add(time.Second))
			r.put(ws, "order.paid", id, noon, 0, c.began)
			require.Equal(t, c.fresh, r.isFresh(ws, "order.paid", noon.Add(3*time.Second)))
			r.invalidate(ws, "order.paid", noon.Add(time.Second))
			require.Empty(t, r.take(noon.Add(time.Second)))
			require.NotEmpty(t, r.workspaces, "the change is known while reads are fresh")
			r.take(noon.Add(time.Second + freshFor))
			require.Empty(t, r.workspaces)
		})
	}
}

// Two consumers share the register: one must not pass events unchecked while the other reads the schema.
func TestATypeIsFreshOnceItsPinnedSchemaIsRead(t *testing.T) {
	t.Parallel()
	r, ws, id := newRegister(), uuid.New(), uuid.New()
	schema, err := conformance.Compile([]byte(`{"required":["total"]}`))
	require.NoError(t, err)
	pinned := noon.UnixMicro()
	require.True(t, r.put(ws, "order.paid", id, noon, pinned, noon))
	require.False(t, r.isFresh(ws, "order.paid", noon), "the schema is not read yet")
	require.True(t, r.setPin(ws, "order.paid", pinned, schema, noon))
	require.True(t, r.isFresh(ws, "order.paid", noon))
	require.False(t, r.put(ws, "order.paid", id, noon, pinned, noon.Add(time.Second)), "the schema is read once")
	require.True(t, r.isFresh(ws, "order.paid", noon))

	require.False(t, r.put(ws, "order.paid", id, noon, 0, noon), "an older read changes nothing")
	_, kept := r.pin(ws, "order.paid")
	require.Same(t, schema, kept)
	require.False(t, r.put(ws, "order.paid", id, noon, 0, noon.Add(2*time.Second)))
	_, kept = r.pin(ws, "order.paid")
	require.Nil(t, kept)
}

// A record writes a bounded number of event types of a workspace, so another one's do not wait for them.
func TestARecordTakesABoundedNumberOfEventTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newWorldOn(t, w.db, w.clock, uuid.New())
	other.Service = w.Service
	other.observe("order.paid", `{}`)
	for i := range 2 * maxRecorded {
		w.observe(fmt.Sprintf("order.%d", i), `{}`)
	}
	for n := range 3 {
		withSchema := 0
		for _, one := range w.all() {
			if one.Schema != nil {
				withSchema++
			}
		}
		require.Equal(t, n*maxRecorded, withSchema)
		w.Record(t.Context())
		require.NotNil(t, other.all()["order.paid"].Schema)
	}
}

func TestEventTypesWithoutEventsExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{}`)
	w.observe("order.sent", `{}`)
	w.Record(t.Context())
	w.clock.Advance(unseenAfter - time.Hour)
	w.observe("order.sent", `{}`)
	w.Record(t.Context())
	w.clock.Advance(time.Hour)
	deleted, err := w.Expire(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Len(t, w.all(), 1)
	w.observe("order.paid", `{"new":1}`)
	require.JSONEq(t, `{"type":"object","properties":{"new":{"type":"integer"}},"required":["new"]}`, string(w.recorded()["order.paid"].GetSchema()))
}

func TestADeletedEventTypeBeginsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica()
	other.observe("order.paid", `{"old":1}`)
	id := other.recorded()["order.paid"].GetId()
	for _, ws := range []uuid.UUID{uuid.New(), w.ws} {
		_, err := w.DeleteEventType(requesttest.Incoming(t, ws), &orchv1.DeleteEventTypeRequest{Id: id})
		require.Equal(t, ws != w.ws, rpc.HTTPError(err).GetStatus() == 404)
	}
	require.Empty(t, w.all())
	_, err := w.ReadEventType(w.ctx(), &orchv1.ReadEventTypeRequest{Id: id})
	require.EqualValues(t, 404, rpc.HTTPError(err).GetStatus())
	other.observe("order.paid", `{"lost":1}`) // The other replica does not know yet, and drops the sample.
	require.Empty(t, other.recorded())
	w.clock.Advance(freshFor)
	other.observe("order.paid", `{"new":1}`)
	require.JSONEq(t, `{"type":"object","properties":{"new":{"type":"integer"}},"required":["new"]}`, string(other.recorded()["order.paid"].GetSchema()))
}

func TestIdleWorkspacesLeaveTheMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{"id":1}`)
	w.clock.Advance(idleAfter)
	w.Record(t.Context())
	require.Empty(t, w.register.workspaces)
	require.NotNil(t, w.all()["order.paid"].Schema)
}

func TestRecorderStoresTheLastSamples(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{"id":1}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, Recorder{w.Service}.Run(ctx))
	require.NotNil(t, w.all()["order.paid"].Schema)
}

// The cost of an event of a name that is known, most of which are no samples.
func BenchmarkObserve(b *testing.B) {
	w := newWorld(b)
	batch := make([]broker.Event, 256)
	for i := range batch {
		batch[i] = broker.Event{Workspace: w.ws, Type: fmt.Sprintf("order.%d", i%16)}
	}
	payload := []byte(`{"id":"0f5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11","lines":[{"sku":"a","count":1},{"sku":"b","count":2}],"total":12.5}`)
	for b.Loop() {
		require.NoError(b, w.Prepare(b.Context(), batch))
		for i := range batch {
			w.Observe(w.ws, batch[i].Type, payload, noon)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/event")
}
