package flowruns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// read reads runs as a sweep does, in their order.
func (w *world) read(runs ...*orchv1.FlowRun) (found []store.Owned[*orchv1.FlowRun]) {
	w.Helper()
	for _, run := range runs {
		one, err := w.service.runs.FindAcross(w.Context(), store.Query{
			Filter: bson.D{{Key: "_id", Value: store.Binary(uuid.MustParse(run.GetId()))}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: 1,
		})
		require.NoError(w, err)
		found = append(found, one...)
	}
	return found
}

// anyID matches the ids in a description.
var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// written describes the stored run and the effects of its writes, with numbers for its name and the ids, in the order of their first
// appearance: these differ between equal runs.
func (w *world) written(run *orchv1.FlowRun) (described []string) {
	w.Helper()
	id := uuid.MustParse(run.GetId())
	stored, err := w.service.runs.Get(w.Context(), w.ws, id)
	require.NoError(w, err)
	effects, err := w.store.Pending(w.Context(), query.FlowRun, store.DocumentKey{Workspace: w.ws, ID: id})
	require.NoError(w, err)
	numbers := map[string]string{}
	describe := func(m proto.Message) {
		text, err := protojson.Marshal(m)
		require.NoError(w, err)
		var compact bytes.Buffer
		require.NoError(w, json.Compact(&compact, text)) // The spaces of protojson vary.
		numbered := strings.ReplaceAll(compact.String(), run.GetName(), "NAME")
		described = append(described, anyID.ReplaceAllStringFunc(numbered, func(id string) string {
			if numbers[id] == "" {
				numbers[id] = fmt.Sprintf("ID%d", len(numbers))
			}
			return numbers[id]
		}))
	}
	describe(stored)
	for _, e := range effects {
		described = append(described, e.Kind+" "+e.At.String())
		var m proto.Message
		switch e.Kind {
		case KindHistory:
			m = &orchv1.FlowRunStateRecord{}
		case events.KindPublish:
			m = &orchv1.ReceivedEvent{}
		default:
			continue
		}
		_, err := e.DecodeMessage(m)
		require.NoError(w, err)
		describe(m)
	}
	return described
}

// Each kind of run has a twin. A sweep writes the states of the originals together, and each twin changes by a transition of its own.
func TestStatesThatAreWrittenTogetherAreThoseOfSingleTransitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var announced []string
	w.service.onWaiting = func(_ uuid.UUID, pool string) { announced = append(announced, pool) }
	full, _ := w.limited(0, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW)
	free, _ := w.limited(9, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW)
	held, slots := w.limited(2, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	parent := &orchv1.TaskRun{Id: uuid.NewString(), FlowRunId: new(w.run().GetId()), TaskKey: "sub", DynamicKey: "0"}
	require.NoError(t, store.NewCollection(w.store, query.TaskRun, &orchv1.TaskRun{}).Insert(t.Context(), w.ws, parent))
	const completed = orchv1.StateType_STATE_TYPE_COMPLETED
	now := w.clock.Now()
	kinds := map[string]func() *orchv1.FlowRun{
		"late":    func() *orchv1.FlowRun { return w.dueRun(0, "") },
		"skipped": func() *orchv1.FlowRun { return w.dueRun(0, "skip") },
		"full":    func() *orchv1.FlowRun { return w.runOf(full, now) },
		"free":    func() *orchv1.FlowRun { return w.runOf(free, now) },
		"subflow": func() *orchv1.FlowRun {
			return w.run(func(c *orchv1.FlowRunCreate) {
				c.ParentTaskRunId, c.State = &parent.Id, &orchv1.StateCreate{Type: scheduled}
			})
		},
		"not due": func() *orchv1.FlowRun { return w.dueRun(time.Hour, "") },
		"cancelling": func() *orchv1.FlowRun {
			run := w.runOf(held, now)
			w.claim(run)
			w.set(run, &orchv1.StateCreate{Type: cancelling})
			return run
		},
		"paused":    func() *orchv1.FlowRun { run := w.run(); w.set(run, &orchv1.StateCreate{Type: paused}); return run },
		"completed": func() *orchv1.FlowRun { run := w.run(); w.set(run, &orchv1.StateCreate{Type: completed}); return run },
	}
	propose := proposing(func(run *orchv1.FlowRun) *orchv1.StateCreate {
		if state := rules.Skipped(run, w.clock.Now()); state != nil {
			return state
		}
		switch run.GetState().GetType() {
		case scheduled:
			if run.GetNextScheduledStartTime().AsTime().After(w.clock.Now()) {
				return nil
			}
			return &orchv1.StateCreate{Type: scheduled, Name: new(nameLate), StateDetails: rules.NewDetails(run.GetNextScheduledStartTime())}
		case completed:
			return nil
		}
		return &orchv1.StateCreate{Type: cancelled, Message: new("swept")}
	})
	policy := slices.Concat(rules.MarkLatePolicy, rules.MinimalFlowPolicy)
	var together, alone []*orchv1.FlowRun
	var names []string
	for name, create := range kinds {
		names, together, alone = append(names, name), append(together, create()), append(alone, create())
	}
	require.Equal(t, int64(2), w.taken(slots))
	w.clock.Advance(runorder.LateAfter + time.Second)

	metrics := func() *runMetrics {
		w.service.metrics = newRunMetrics(prometheus.NewRegistry())
		return w.service.metrics
	}
	first := metrics()
	announced = nil
	written, err := w.service.suggestAll(t.Context(), w.read(together...), policy, propose)
	require.NoError(t, err)
	require.Equal(t, len(kinds)-2, written)
	require.Equal(t, int64(1), w.taken(slots))
	firstAnnounced := announced

	second := metrics()
	announced = nil
	for _, run := range alone {
		_, err := w.service.applyTransition(t.Context(), w.ws, uuid.MustParse(run.GetId()), policy, propose(w.ws))
		require.NoError(t, err)
	}
	require.Zero(t, w.taken(slots))
	require.Equal(t, announced, firstAnnounced)
	for i, name := range names {
		require.Equal(t, w.written(alone[i]), w.written(together[i]), name)
	}
	for _, deployment := range []string{"", "etl/" + full.String(), "etl/" + free.String(), "etl/" + held.String()} {
		for _, state := range []string{"SCHEDULED", "CANCELLED"} {
			count := func(m *runMetrics) int {
				return int(testutil.ToFloat64(m.states.WithLabelValues(state, deployment, "", "")))
			}
			require.Equal(t, count(second), count(first), "%s of %q", state, deployment)
		}
	}
}

func TestRunsThatChangedSinceTheReadAreDecidedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, claimed, renamed, deleted, failing, behind := w.dueRun(0, ""), w.dueRun(0, ""), w.dueRun(0, ""), w.dueRun(0, ""), w.dueRun(0, ""), w.dueRun(0, "")
	w.clock.Advance(runorder.LateAfter + time.Second)
	found := w.read(before, claimed, renamed, deleted, failing, behind)

	w.claim(claimed)
	_, err := w.service.runs.Mutate(t.Context(), w.ws, uuid.MustParse(renamed.GetId()), store.Edit(func(next *orchv1.FlowRun) error {
		next.Name = "renamed"
		return nil
	}, nil))
	require.NoError(t, err)
	require.NoError(t, w.service.delete(t.Context(), w.ws, uuid.MustParse(deleted.GetId())))

	undecided := errors.New("undecided")
	written, err := w.service.suggestAll(t.Context(), found, rules.MarkLatePolicy, func(uuid.UUID) proposal {
		return func(run *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
			if run.GetId() == failing.GetId() {
				return nil, nil, undecided
			}
			if run.GetState().GetType() != scheduled {
				return nil, nil, nil
			}
			return &orchv1.StateCreate{Type: scheduled, Name: new(nameLate), StateDetails: rules.NewDetails(timestamppb.New(w.clock.Now()))}, nil, nil
		}
	})
	require.ErrorIs(t, err, undecided)
	require.NotErrorIs(t, err, store.ErrNotFound, "a run that is deleted meanwhile")
	require.Equal(t, 3, written)
	require.Equal(t, pending, w.state(claimed).GetType())
	require.Equal(t, nameScheduled, w.state(failing).GetName())
	for _, run := range []*orchv1.FlowRun{before, renamed, behind} {
		require.Equal(t, nameLate, w.state(run).GetName())
	}
	now, err := w.service.runs.Get(t.Context(), w.ws, uuid.MustParse(renamed.GetId()))
	require.NoError(t, err)
	require.Equal(t, "renamed", now.GetName())
}
