package orchestration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// actionReplicas are two processes that execute the actions of a domain and that are killed all the time. Their clock is an hour ahead of
// the domain's, whose own process therefore finds nothing due.
type actionReplicas struct {
	*domain
	clock    *clock.Manual
	random   *rand.Rand
	replicas []*actionReplica
	runs     *store.Collection[*orchv1.AutomationActionRun]
	keys     *store.Collection[*orchv1.AutomationKey]
	kills    int
}

type actionReplica struct {
	runner *action.Runner
	// disconnect closes the connections to the database, and end stops the workers.
	disconnect func()
	end        context.CancelFunc
	group      sync.WaitGroup
}

func newActionReplicas(t *testing.T) *actionReplicas {
	t.Helper()
	w := &actionReplicas{domain: newDomain(t), clock: clock.NewManual(time.Now().Add(time.Hour).Truncate(time.Second)), random: rand.New(rand.NewPCG(1, 2))}
	reader := w.open()
	t.Cleanup(func() { require.NoError(t, reader.Close(context.WithoutCancel(t.Context()))) })
	w.runs = store.NewCollection(reader, query.AutomationAction, &orchv1.AutomationActionRun{})
	w.keys = store.NewCollection(reader, query.AutomationKey, &orchv1.AutomationKey{})
	for range 2 {
		w.replicas = append(w.replicas, w.start())
	}
	t.Cleanup(func() {
		for _, r := range w.replicas {
			r.kill()
		}
	})
	return w
}

func (w *actionReplicas) open() *store.Store {
	w.t.Helper()
	opened, err := store.Open(w.t.Context(), store.Config{
		URI: w.store.URI, Database: w.store.Name, Dialer: w.store.Dialer, Clock: w.clock, IDs: id.System(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(w.t, err)
	return opened
}

// start starts a process with a relay of its own.
func (w *actionReplicas) start() *actionReplica {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	opened := w.open()
	effects := outbox.NewMux()
	relay := outbox.New(outbox.Config{Store: opened, Collections: []query.Collection{query.AutomationKey}, Handlers: effects, Secrets: w.domain.keys, Log: log})
	opened = opened.WithRelay(relay)
	runner := action.New(action.Deps{
		Store: opened, Broker: w.broker, Vocabulary: vocabulary.Orch, Caller: w.Local, Random: func() float64 { return 0 }, Log: log,
		Account:    func(context.Context, uuid.UUID) (uuid.UUID, error) { return request.DefaultAccount, nil },
		DeadLetter: func(context.Context, uuid.UUID, store.Effect, int, error) error { return nil },
	})
	require.NoError(w.t, effects.Handle(outbox.Handler{Kind: action.KindCollected, Run: runner.StoreCollected, Batch: true}))
	lasting := context.WithoutCancel(w.t.Context())
	ctx, end := context.WithCancel(lasting)
	r := &actionReplica{runner: runner, end: end}
	r.disconnect = func() { _ = opened.Close(lasting) } // A killed process cannot end its sessions.
	for _, worker := range []interface{ Run(context.Context) error }{relay, outbox.Sweeper{Relay: relay}, runner} {
		r.group.Go(func() { _ = worker.Run(ctx) })
	}
	return r
}

// kill closes the connections to the database before the workers end, so that they write nothing more.
func (r *actionReplica) kill() {
	r.disconnect()
	r.end()
	r.group.Wait()
}

// fire stores the action runs of firings of an automation, as the engine does. Each key gets n of them.
func (w *actionReplicas) fire(automation *orchv1.Automation, n int, keys ...string) {
	w.t.Helper()
	var runs []*orchv1.AutomationActionRun
	for i := range n {
		for _, key := range keys {
			now := w.clock.Now()
			runs = append(runs, &orchv1.AutomationActionRun{
				Id: uuid.NewString(), Automation: automation, Action: automation.GetActions()[0], TriggeredEventId: uuid.NewString(), Next: proto.Int64(now.UnixMicro()),
				Firing: &orchv1.AutomationFiring{
					Id: uuid.NewString(), TriggerId: automation.GetTrigger().GetEvent().GetId(), State: orchv1.TriggerState_TRIGGER_STATE_TRIGGERED, Triggered: now.UnixMicro() + int64(i),
					Event: &orchv1.ReceivedEvent{
						Id: uuid.NewString(), Event: "order.paid", Occurred: timestamppb.New(now), Received: timestamppb.New(now),
						Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": key}}, Payload: fmt.Appendf(nil, `{"n":%d}`, i),
					},
				},
			})
		}
	}
	_, err := store.InsertAll(w.t.Context(), w.runs, request.DefaultWorkspace, runs)
	require.NoError(w.t, err)
}

// run advances the clock and kills a process now and then, until done.
func (w *actionReplicas) run(step time.Duration, done func() bool) {
	w.t.Helper()
	eventually(w.t, func() bool {
		w.clock.Advance(step)
		if i := w.random.IntN(8); i < len(w.replicas) {
			w.replicas[i].kill()
			w.replicas[i] = w.start()
			w.kills++
		}
		for _, r := range w.replicas {
			r.runner.Wake()
		}
		return done()
	}, "the actions end")
}

// settled reports whether all action runs have ended.
func (w *actionReplicas) settled() bool {
	open, err := w.runs.Count(w.t.Context(), request.DefaultWorkspace, store.Query{Filter: bson.D{{Key: "expires", Value: nil}}})
	require.NoError(w.t, err)
	return open == 0
}

// idle reports whether all action runs have ended, and no key has work.
func (w *actionReplicas) idle() bool {
	keys, err := w.keys.Find(w.t.Context(), request.DefaultWorkspace, store.Query{})
	require.NoError(w.t, err)
	for _, key := range keys {
		if key.GetCollected() != nil || len(key.GetQueue()) > 0 {
			return false
		}
	}
	return w.settled()
}

// flowRuns are the flow runs of a deployment, by the parameter key.
func (w *actionReplicas) flowRuns(deployment string) map[string][]*orchv1.FlowRun {
	w.t.Helper()
	runs := call[*orchv1.FlowRunList](w.domain, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{
		Deployments: &orchv1.DeploymentFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{deployment}}}},
		Sort:        orchv1.FlowRunSort_FLOW_RUN_SORT_EXPECTED_START_TIME_ASC,
	}}).GetFlowRuns()
	byKey := map[string][]*orchv1.FlowRun{}
	for _, run := range runs {
		var parameters struct{ Key string }
		require.NoError(w.t, json.Unmarshal(run.GetParameters(), &parameters))
		byKey[parameters.Key] = append(byKey[parameters.Key], run)
	}
	return byKey
}

// haveRuns reports whether both keys have at least n flow runs.
func (w *actionReplicas) haveRuns(deployment string, n int) bool {
	w.t.Helper()
	runs := w.flowRuns(deployment)
	return len(runs["a"]) >= n && len(runs["b"]) >= n
}

// keyed creates an automation with a feature of run-deployment, and its deployment.
func (w *actionReplicas) keyed(name, feature string) (automation *orchv1.Automation, deployment string) {
	w.t.Helper()
	deployment = w.deployment(w.flow(name)).GetId()
	return w.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":["order.paid"]},
		"actions":[{"type":"run-deployment","deployment_id":%q,"parameters":{"key":"{{ event.resource.id }}","n":"{{ event.payload.n }}"},%s}]}`,
		name, deployment, feature)), deployment
}

func (w *actionReplicas) complete(run *orchv1.FlowRun) {
	w.t.Helper()
	for _, state := range []orchv1.StateType{orchv1.StateType_STATE_TYPE_RUNNING, completed} {
		_, _, err := try[*orchv1.OrchestrationResult](w.domain, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
			Id: run.GetId(), Transition: &orchv1.FlowRunTransition{Force: true, State: &orchv1.StateCreate{Type: state}},
		})
		require.NoError(w.t, err)
	}
}

// However often processes die, a burst of firings of a key causes one run.
func TestDebounceOverKilledReplicas(t *testing.T) {
	t.Parallel()
	w := newActionReplicas(t)
	automation, deployment := w.keyed("debounce", `"debounce":{"key":"{{ event.resource.id }}","period":3600,"timeout":604800}`)
	const firings = 30
	for burst := range 3 {
		w.fire(automation, firings, "a", "b")
		w.run(2*time.Second, w.settled)
		w.run(10*time.Minute, func() bool { return w.haveRuns(deployment, burst+1) && w.idle() })
	}
	for key, runs := range w.flowRuns(deployment) {
		require.Len(t, runs, 3, key)
		for _, run := range runs {
			require.JSONEq(t, fmt.Sprintf(`{"key":%q,"n":%d}`, key, firings-1), string(run.GetParameters()), "the last firing")
		}
	}
	require.Positive(t, w.kills)
}

// However often processes die, each firing is in one batch.
func TestBatchOverKilledReplicas(t *testing.T) {
	t.Parallel()
	w := newActionReplicas(t)
	automation, deployment := w.keyed("batch", `"batch":{"key":"{{ event.resource.id }}","max_events":7,"timeout":3600}`)
	const firings = 40
	w.fire(automation, firings, "a", "b")
	w.run(2*time.Second, func() bool { return w.haveRuns(deployment, firings/7) && w.settled() })
	w.run(10*time.Minute, func() bool { return w.haveRuns(deployment, firings/7+1) && w.idle() })
	for key, runs := range w.flowRuns(deployment) {
		require.Len(t, runs, firings/7+1, key)
		seen := map[int]int{}
		for _, run := range runs {
			var parameters struct {
				Events []struct{ Payload struct{ N int } }
			}
			require.NoError(t, json.Unmarshal(run.GetParameters(), &parameters))
			require.LessOrEqual(t, len(parameters.Events), 7)
			for _, event := range parameters.Events {
				seen[event.Payload.N]++
			}
		}
		require.Len(t, seen, firings, key)
		for n, times := range seen {
			require.Equal(t, 1, times, "firing %d of %s", n, key)
		}
	}
	require.Positive(t, w.kills)
}

// unfinished are the flow runs of a deployment that have not ended.
func (w *actionReplicas) unfinished(deployment string) (all []*orchv1.FlowRun) {
	w.t.Helper()
	for _, run := range w.flowRuns(deployment)["a"] {
		if state := run.GetState().GetType(); state != completed && state != orchv1.StateType_STATE_TYPE_CANCELLED {
			all = append(all, run)
		}
	}
	require.LessOrEqual(w.t, len(all), 1, "a key has two unfinished runs")
	return all
}

// However often processes die, a key has one unfinished run at a time, and as many runs as its mode says.
func TestSingletonOverKilledReplicas(t *testing.T) {
	t.Parallel()
	const firings = 8
	for mode, end := range map[string]func(w *actionReplicas, deployment string){
		"queue": func(w *actionReplicas, deployment string) {
			ended := 0
			w.run(2*time.Second, func() bool {
				for _, run := range w.unfinished(deployment) {
					w.complete(run)
					ended++
				}
				return ended == firings && w.idle()
			})
			require.Len(w.t, w.flowRuns(deployment)["a"], firings)
		},
		"skip": func(w *actionReplicas, deployment string) {
			w.run(2*time.Second, w.idle)
			require.Len(w.t, w.flowRuns(deployment)["a"], 1)
		},
		"replace": func(w *actionReplicas, deployment string) {
			w.run(2*time.Second, func() bool { return len(w.unfinished(deployment)) == 1 && w.idle() })
			runs := w.flowRuns(deployment)["a"]
			require.LessOrEqual(w.t, len(runs), firings)
			require.Greater(w.t, len(runs), 1)
		},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newActionReplicas(t)
			automation, deployment := w.keyed(mode, fmt.Sprintf(`"singleton":{"key":"{{ event.resource.id }}","mode":%q}`, mode))
			w.fire(automation, 1, "a")
			w.run(2*time.Second, w.settled)
			w.fire(automation, firings-1, "a")
			end(w, deployment)
			require.Positive(t, w.kills)
		})
	}
}

// A key that fails ends its action with the reason.
func TestKeysThatFail(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("ship")).GetId()
	for name, c := range map[string]struct{ key, reason string }{
		"type error": {`{{ event.payload.n + [] }}`, "Template rendering failed"},
		"empty":      {`{{ event.payload.missing }}`, "The key is empty"},
		"long":       {`{{ 'x' * 2000 }}`, "The key has 2000 bytes"},
	} {
		for _, feature := range []string{`"debounce":{"period":1,"key":%q}`, `"batch":{"timeout":1,"key":%q}`, `"singleton":{"key":%q}`} {
			d.automation(fmt.Sprintf(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":[%q]},"actions":[{"type":"run-deployment","deployment_id":%q,`+feature+`}]}`,
				name, deployment, c.key))
		}
		d.emit(name, "order.1")
		eventually(t, func() bool {
			n := 0
			for _, e := range d.events(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{"orch.automation.action.failed"}}}}).GetEvents() {
				if strings.Contains(string(e.GetPayload()), c.reason) {
					n++
				}
			}
			return n == 3
		}, name)
	}
	require.Empty(t, call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}).GetFlowRuns())
}

// Debounce, batch and singleton come back as they were sent, and are refused with the place of what is wrong.
func TestKeysOfActionsAreChecked(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	body := func(features string) string {
		return `{"name":"a","trigger":{"type":"event","posture":"Reactive"},"actions":[{"type":"run-deployment","deployment_id":"` + anID + `",` + features + `}]}`
	}
	run := d.automation(body(`"debounce":{"period":"PT10S"},"singleton":{}`)).GetActions()[0].GetRunDeployment()
	require.Equal(t, 24*time.Hour, run.GetDebounce().GetTimeout().AsDuration())
	require.Equal(t, orchv1.SingletonMode_SINGLETON_MODE_SKIP, run.GetSingleton().GetMode())
	batch := d.automation(body(`"batch":{"timeout":60}`)).GetActions()[0].GetRunDeployment().GetBatch()
	require.True(t, proto.Equal(&orchv1.Batch{MaxEvents: 100, Timeout: durationpb.New(time.Minute), Parameter: "events"}, batch))
	for name, c := range map[string]struct{ features, at, text string }{
		"template":          {`"debounce":{"period":1,"key":"\n{{ x"}`, "key", "line 2"},
		"period":            {`"debounce":{"period":0.5}`, "period", "between 1 and 86400 seconds"},
		"timeout":           {`"debounce":{"period":60,"timeout":30}`, "timeout", "between 60 and 604800 seconds"},
		"batch for a month": {`"batch":{"timeout":"P30D"}`, "timeout", "between 1 and 86400 seconds"},
		"both":              {`"batch":{"timeout":1},"debounce":{"period":1}`, "batch", "exclude each other"},
		"singleton":         {`"singleton":{"key":"{% if %}"}`, "key", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.tryAutomation(body(c.features))
			e := rpc.HTTPError(err)
			require.Equal(t, int32(http.StatusUnprocessableEntity), e.GetStatus())
			list := e.GetFieldErrors().GetErrors()
			require.Len(t, list, 1)
			require.Contains(t, list[0].GetMsg(), c.text)
			require.Equal(t, c.at, list[0].GetLoc()[len(list[0].GetLoc())-1].GetKey())
		})
	}
}
