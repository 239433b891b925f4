package events

import (
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
	"github.com/orch-project/orch/services/orchestration/internal/call/calltest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// The first page of any filter that an index serves comes within this time, at the median.
const (
	pageBudget = 20 * time.Millisecond
	pageRounds = 41
)

// world are many events of runs, as a busy workspace has them: flows have runs, runs have tasks, tasks have states.
type world struct {
	flows, runs []string
	oldest      time.Time
}

// fill stores n events, the newest of which is of this moment.
func (w *world) fill(t *testing.T, s *Service, ws uuid.UUID, n int) {
	t.Helper()
	v := vocabulary.Orch
	for range 20 {
		w.flows = append(w.flows, uuid.NewString())
	}
	names := []string{"Pending", "Running", "Completed", "Failed", "Scheduled"}
	w.oldest = time.Now().Add(-time.Duration(n) * time.Millisecond)
	var docs []bson.Raw
	var run, task string
	for i := range n {
		if i%100 == 0 {
			run = uuid.NewString()
			w.runs = append(w.runs, run)
		}
		if i%4 == 0 {
			task = uuid.NewString()
		}
		at := timestamppb.New(w.oldest.Add(time.Duration(i) * time.Millisecond))
		kind, of := "task-run", task
		if i%10 == 0 {
			kind, of = "flow-run", run
		}
		e := &orchv1.ReceivedEvent{
			Id: uuid.Must(uuid.NewV7()).String(), Event: v.Name(kind, names[i%len(names)]), Occurred: at, Received: at,
			Resource: &orchv1.Resource{Labels: map[string]string{v.ResourceID(): v.Name(kind, of), v.ResourceName(): "name", v.Name("state-type"): "RUNNING"}},
			Related: []*orchv1.RelatedResource{
				Related(v, "flow-run", run, "flow-run", "run"), Related(v, "flow", w.flows[(i/100)%len(w.flows)], "flow", "flow"),
			},
			Payload: []byte(`{"intended": {"from": "PENDING", "to": "RUNNING"}, "initial_state": {"type": "PENDING", "name": "Pending"}}`),
		}
		doc, err := s.document(ws, e)
		require.NoError(t, err)
		if docs = append(docs, doc); len(docs) == 5000 || i == n-1 {
			require.NoError(t, s.events.InsertNew(t.Context(), docs))
			docs = docs[:0]
		}
	}
}

// TestFirstPagesOfManyEvents measures the first page of every filter that has an index; ORCH_SCALE_EVENTS is how many
// events there are. It prints the median and the slowest of each, and fails where the median is beyond the budget.
func TestFirstPagesOfManyEvents(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("ORCH_SCALE_EVENTS"))
	if n == 0 {
		t.Skip("ORCH_SCALE_EVENTS is not set")
	}
	v := vocabulary.Orch
	s := New(storetest.Embedded(t, clock.System{}), nil, v, 0)
	ws := uuid.New()
	var w world
	start := time.Now()
	w.fill(t, s, ws, n)
	t.Logf("%d events stored in %s", n, time.Since(start).Round(time.Second))
	ctx := calltest.Incoming(t, ws)
	for _, c := range []struct{ name, filter string }{
		{"none", `{}`},
		{"oldest first", `{"order": "ASC"}`},
		{"occurred", fmt.Sprintf(`{"occurred": {"since": %q, "until": %q}}`,
			w.oldest.Add(10*time.Second).Format(time.RFC3339Nano), w.oldest.Add(20*time.Second).Format(time.RFC3339Nano))},
		{"event.name", `{"event": {"name": ["orch.task-run.Running"]}}`},
		{"event.name, two", `{"event": {"name": ["orch.task-run.Running", "orch.flow-run.Pending"]}}`},
		{"event.name, rare", `{"event": {"name": ["nothing"]}}`},
		{"event.prefix", `{"event": {"prefix": ["orch.flow-run."]}}`},
		{"event.prefix, all", `{"event": {"prefix": ["orch."]}}`},
		{"resource.id", fmt.Sprintf(`{"resource": {"id": ["orch.flow-run.%s"]}}`, w.runs[len(w.runs)/2])},
		{"resource.id_prefix", fmt.Sprintf(`{"resource": {"id_prefix": ["orch.flow-run.%s"]}}`, w.runs[0][:3])},
		{"related.id, a run", fmt.Sprintf(`{"related": {"id": ["orch.flow-run.%s"]}}`, w.runs[len(w.runs)/2])},
		{"related.id, a flow", fmt.Sprintf(`{"related": {"id": ["orch.flow.%s"]}}`, w.flows[0])},
		{"any_resource.id, a run", fmt.Sprintf(`{"any_resource": {"id": ["orch.flow-run.%s"]}}`, w.runs[len(w.runs)/3])},
		{"any_resource.id, a flow", fmt.Sprintf(`{"any_resource": {"id": ["orch.flow.%s"]}}`, w.flows[1])},
		{"name and resource", fmt.Sprintf(`{"event": {"name": ["orch.flow-run.Pending"]}, "resource": {"id": ["orch.flow-run.%s"]}}`, w.runs[3])},
		{"name and a run", fmt.Sprintf(`{"event": {"prefix": ["orch.task-run."]}, "any_resource": {"id": ["orch.flow-run.%s"]}}`, w.runs[5])},
		{"id", fmt.Sprintf(`{"id": {"id": [%q]}}`, uuid.NewString())},
	} {
		filter := &orchv1.EventFilter{}
		require.NoError(t, restjson.Unmarshal([]byte(c.filter), filter), c.name)
		var took []time.Duration
		var page *orchv1.EventPage
		for range pageRounds {
			var err error
			begin := time.Now()
			page, err = s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: maxPage}})
			took = append(took, time.Since(begin))
			require.NoError(t, err, c.name)
			if took[len(took)-1] > 2*time.Second && len(took) > 2 {
				break
			}
		}
		slices.Sort(took)
		median := took[len(took)/2]
		t.Logf("%-24s %7d of %d   p50 %8s   slowest %8s", c.name, len(page.GetEvents()), page.GetTotal(),
			median.Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond))
		if median > pageBudget {
			t.Errorf("%s: the first page takes %s at the median, more than %s", c.name, median, pageBudget)
		}
	}
}
