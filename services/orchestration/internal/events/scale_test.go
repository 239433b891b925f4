package events

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

const (
	// pageBudget bounds the median latency of the first page of any filter that an index serves.
	pageBudget = 20 * time.Millisecond
	pageRounds = 41
	// slowRounds is the number of repetitions of a query that must read many events.
	slowRounds = 3
	// slowBudget bounds the latency of such a query until it succeeds or times out.
	slowBudget = 6 * time.Second
)

// world has many events of runs, as a busy workspace does: flows have runs, runs have tasks, tasks have states. One
// event occurs each millisecond.
type world struct {
	ws          uuid.UUID
	flows, runs []string
	oldest      time.Time
}

func newWorld(n int) *world {
	w := &world{ws: uuid.NewSHA1(uuid.NameSpaceURL, []byte("scale"))}
	for i := range 20 {
		w.flows = append(w.flows, w.id("flow", i))
	}
	for i := range (n + 99) / 100 {
		w.runs = append(w.runs, w.id("run", i))
	}
	return w
}

func (w *world) id(kind string, i int) string {
	return uuid.NewSHA1(w.ws, fmt.Appendf(nil, "%s %d", kind, i)).String()
}

// at is the time n milliseconds after the oldest event, in the notation of filters.
func (w *world) at(n int) string {
	return w.oldest.Add(time.Duration(n) * time.Millisecond).Format(time.RFC3339Nano)
}

// fill stores n events, unless they exist; the newest event has the current time.
func (w *world) fill(t *testing.T, s *Service, n int) {
	t.Helper()
	stored, err := s.events.Count(t.Context(), w.ws, store.Query{})
	require.NoError(t, err)
	if stored > 0 {
		require.EqualValues(t, n, stored, "the directory has another store")
		first, err := s.events.Find(t.Context(), w.ws, store.Query{Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_ASC), Limit: 1})
		require.NoError(t, err)
		w.oldest = first[0].GetOccurred().AsTime()
		return
	}
	v := vocabulary.Orch
	names := []string{"Pending", "Running", "Completed", "Failed", "Scheduled"}
	w.oldest = time.Now().Add(-time.Duration(n) * time.Millisecond).Truncate(time.Millisecond)
	var docs []bson.Raw
	for i := range n {
		at := timestamppb.New(w.oldest.Add(time.Duration(i) * time.Millisecond))
		run := w.runs[i/100]
		kind, resource := "task-run", w.id("task", i/4)
		if i%10 == 0 {
			kind, resource = "flow-run", run
		}
		e := &orchv1.ReceivedEvent{
			Id: uuid.Must(uuid.NewV7()).String(), Event: v.Name(kind, names[i%len(names)]), Occurred: at, Received: at,
			Resource: &orchv1.Resource{Labels: map[string]string{
				v.ResourceID(): v.Name(kind, resource), v.ResourceName(): fmt.Sprintf("name-%d", i/100), v.Name("state-type"): "RUNNING",
			}},
			Related: []*orchv1.RelatedResource{
				Related(v, "flow-run", run, "flow-run", "run"), Related(v, "flow", w.flows[(i/100)%len(w.flows)], "flow", "flow"),
			},
			Payload: []byte(`{"intended": {"from": "PENDING", "to": "RUNNING"}, "initial_state": {"type": "PENDING", "name": "Pending"}}`),
		}
		doc, err := new(documents).add(s, w.ws, e)
		require.NoError(t, err)
		if docs = append(docs, doc); len(docs) == 5000 || i == n-1 {
			require.NoError(t, s.events.InsertNew(t.Context(), docs))
			docs = docs[:0]
		}
	}
}

// scaled opens the world that the environment configures: ORCH_SCALE_EVENTS is the number of events, and ORCH_SCALE_DIR
// an optional directory that keeps them between runs.
func scaled(t *testing.T) (*Service, *world, int) {
	t.Helper()
	n, _ := strconv.Atoi(os.Getenv("ORCH_SCALE_EVENTS"))
	if n == 0 {
		t.Skip("ORCH_SCALE_EVENTS is not set")
	}
	dir := os.Getenv("ORCH_SCALE_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	s := New(Deps{Store: storetest.EmbeddedIn(t, clock.System{}, dir), Vocabulary: vocabulary.Orch})
	w := newWorld(n)
	start := time.Now()
	w.fill(t, s, n)
	t.Logf("%d events are stored after %s", n, time.Since(start).Round(time.Second))
	return s, w, n
}

// timed runs a query several times and returns the median and the maximum latency.
func timed(t *testing.T, rounds int, ask func() error) (median, slowest time.Duration) {
	t.Helper()
	var took []time.Duration
	for range rounds {
		begin := time.Now()
		require.NoError(t, ask())
		if took = append(took, time.Since(begin)); took[len(took)-1] > slowBudget/2 && len(took) >= slowRounds {
			break
		}
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1]
}

// TestFirstPagesOfManyEvents measures the first page of typical filters, and prints the median and the maximum of each.
// It fails when a median exceeds its budget. An indexed filter has pageBudget; a filter whose total must read very many
// events or keys has the time until the store gives up.
func TestFirstPagesOfManyEvents(t *testing.T) {
	s, w, n := scaled(t)
	ctx := requesttest.Incoming(t, w.ws)
	run := func(i int) string { return "orch.flow-run." + w.runs[i] }
	for _, c := range []struct {
		name, filter string
		slow         bool
	}{
		{name: "none", filter: `{}`},
		{name: "oldest first", filter: `{"order": "ASC"}`},
		{name: "occurred, 10 s", filter: fmt.Sprintf(`{"occurred": {"since": %q, "until": %q}}`, w.at(n/100), w.at(n/100+10_000))},
		{name: "occurred, the newest half", filter: fmt.Sprintf(`{"occurred": {"since": %q}}`, w.at(n/2)), slow: true},
		{name: "occurred, all but 10 s", filter: fmt.Sprintf(`{"occurred": {"since": %q}}`, w.at(10_000))},
		{name: "event.name", filter: `{"event": {"name": ["orch.task-run.Running"]}}`},
		{name: "event.name, two", filter: `{"event": {"name": ["orch.task-run.Running", "orch.flow-run.Pending"]}}`},
		{name: "event.name, rare", filter: `{"event": {"name": ["nothing"]}}`},
		{name: "event.prefix", filter: `{"event": {"prefix": ["orch.flow-run."]}}`},
		{name: "event.prefix, all", filter: `{"event": {"prefix": ["orch."]}}`},
		{name: "event.exclude_prefix", filter: `{"event": {"exclude_prefix": ["orch.task-run."]}}`},
		{name: "event.exclude_name", filter: `{"event": {"exclude_name": ["orch.task-run.Running", "nothing"]}}`},
		{name: "prefix and exclude_name", filter: `{"event": {"prefix": ["orch.flow-run."], "exclude_name": ["orch.flow-run.Pending"]}}`},
		{name: "resource.id", filter: fmt.Sprintf(`{"resource": {"id": [%q]}}`, run(len(w.runs)/2))},
		{name: "resource.id_prefix", filter: fmt.Sprintf(`{"resource": {"id_prefix": ["orch.flow-run.%s"]}}`, w.runs[0][:3])},
		{name: "resource.id_prefix, all", filter: `{"resource": {"id_prefix": ["orch."]}}`, slow: true},
		{name: "related.id, a run", filter: fmt.Sprintf(`{"related": {"id": [%q]}}`, run(len(w.runs)/2))},
		{name: "related.id, a flow", filter: fmt.Sprintf(`{"related": {"id": ["orch.flow.%s"]}}`, w.flows[0])},
		{name: "related.id and role, a run", filter: fmt.Sprintf(`{"related": {"id": [%q], "role": ["flow-run"]}}`, run(len(w.runs)/2))},
		{name: "related.id and role, a flow", filter: fmt.Sprintf(`{"related": {"id": ["orch.flow.%s"], "role": ["flow"]}}`, w.flows[0]), slow: true},
		{name: "related.role", filter: `{"related": {"role": ["flow"]}}`, slow: true},
		{name: "any_resource.id, a run", filter: fmt.Sprintf(`{"any_resource": {"id": [%q]}}`, run(len(w.runs)/3))},
		{name: "any_resource.id, a flow", filter: fmt.Sprintf(`{"any_resource": {"id": ["orch.flow.%s"]}}`, w.flows[1])},
		{name: "any_resource.id_prefix, a run", filter: fmt.Sprintf(`{"any_resource": {"id_prefix": [%q]}}`, run(len(w.runs) / 3)[:24])},
		{name: "any_resource.id_prefix, runs", filter: `{"any_resource": {"id_prefix": ["orch.flow-run."]}}`, slow: true},
		{name: "name and resource", filter: fmt.Sprintf(`{"event": {"name": ["orch.flow-run.Pending"]}, "resource": {"id": [%q]}}`, run(3))},
		{name: "name and a run", filter: fmt.Sprintf(`{"event": {"prefix": ["orch.task-run."]}, "any_resource": {"id": [%q]}}`, run(5))},
		{name: "occurred, 10 s, and prefix", filter: fmt.Sprintf(`{"occurred": {"since": %q, "until": %q}, "event": {"prefix": ["orch.flow-run."]}}`,
			w.at(n/100), w.at(n/100+10_000))},
		{name: "occurred, half, and a name", filter: fmt.Sprintf(`{"occurred": {"since": %q}, "event": {"name": ["orch.flow-run.Pending"]}}`, w.at(n/2))},
		{name: "occurred, half, and a flow", filter: fmt.Sprintf(`{"occurred": {"since": %q}, "any_resource": {"id": ["orch.flow.%s"]}}`, w.at(n/2), w.flows[1])},
		{name: "resource.labels, one run", filter: `{"resource": {"labels": {"orch.resource.name": "name-7"}}}`, slow: true},
		{name: "resource.labels, all", filter: `{"resource": {"labels": {"orch.state-type": "RUNNING"}}}`, slow: true},
		{name: "text, common", filter: `{"text": {"query": "running"}}`, slow: true},
		{name: "text, nowhere", filter: `{"text": {"query": "zebra"}}`, slow: true},
		{name: "id", filter: fmt.Sprintf(`{"id": {"id": [%q]}}`, uuid.NewString())},
	} {
		t.Run(c.name, func(t *testing.T) {
			filter := &orchv1.EventFilter{}
			require.NoError(t, restjson.Unmarshal([]byte(c.filter), filter), c.name)
			var page *orchv1.EventPage
			rounds, budget := pageRounds, pageBudget
			if c.slow {
				rounds, budget = slowRounds, slowBudget
			}
			var failure error
			median, slowest := timed(t, rounds, func() (err error) {
				page, err = s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: maxPage}})
				failure = errors.Join(failure, err)
				return nil
			})
			t.Logf("%-30s %7d of %7d   p50 %8s   slowest %8s", c.name, len(page.GetEvents()), page.GetTotal(),
				median.Round(10*time.Microsecond), slowest.Round(10*time.Microsecond))
			if failure != nil && c.slow {
				t.Logf("%s: not answered within the time of an operation", c.name)
				failure = nil
			}
			if median > budget || failure != nil {
				t.Errorf("%s: the first page takes %s at the median, more than %s: %v", c.name, median, budget, failure)
			}
		})
	}
}

// TestCountsOfManyEvents measures counts by time and name, which indexes provide, and by resource. A count by resource
// reads every event within the range, and times out when there are too many.
func TestCountsOfManyEvents(t *testing.T) {
	s, w, n := scaled(t)
	ctx := requesttest.Incoming(t, w.ws)
	for _, c := range []struct {
		name      string
		countable orchv1.Countable
		since     string
	}{
		{"by day", orchv1.Countable_COUNTABLE_DAY, w.at(0)},
		{"by hour", orchv1.Countable_COUNTABLE_TIME, w.at(0)},
		{"by name", orchv1.Countable_COUNTABLE_EVENT, w.at(0)},
		{"by resource", orchv1.Countable_COUNTABLE_RESOURCE, w.at(0)},
		{"by day, 10 s", orchv1.Countable_COUNTABLE_DAY, w.at(n - 10_000)},
		{"by name, 10 s", orchv1.Countable_COUNTABLE_EVENT, w.at(n - 10_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			filter := &orchv1.EventFilter{}
			require.NoError(t, restjson.Unmarshal(fmt.Appendf(nil, `{"occurred": {"since": %q, "until": %q}}`, c.since, w.at(n)), filter))
			var list *orchv1.EventCountList
			var failure error
			median, slowest := timed(t, slowRounds, func() (err error) {
				list, err = s.CountEvents(ctx, &orchv1.CountEventsRequest{
					Countable: c.countable, Query: &orchv1.EventCountQuery{Filter: filter, TimeUnit: orchv1.TimeUnit_TIME_UNIT_HOUR, TimeInterval: 1},
				})
				failure = errors.Join(failure, err)
				return nil
			})
			t.Logf("%-30s %7d counts   p50 %8s   slowest %8s", c.name, len(list.GetCounts()), median.Round(10*time.Microsecond), slowest.Round(10*time.Microsecond))
			if failure != nil {
				t.Logf("%s: not answered within the time of an operation", c.name)
			}
			if median > slowBudget {
				t.Errorf("%s: the counts take %s at the median, more than %s", c.name, median, slowBudget)
			}
		})
	}
}
