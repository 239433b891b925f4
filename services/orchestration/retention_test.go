package orchestration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	day = 24 * time.Hour

	failedState    = orchv1.StateType_STATE_TYPE_FAILED
	cancelledState = orchv1.StateType_STATE_TYPE_CANCELLED
)

// rule returns a retention rule.
func rule(kind orchv1.RetentionKind, age time.Duration, states ...orchv1.StateType) *orchv1.RetentionRule {
	return &orchv1.RetentionRule{Kind: kind, MaxAge: durationpb.New(age), States: states}
}

const (
	flowRunKind  = orchv1.RetentionKind_RETENTION_KIND_FLOW_RUNS
	taskRunKind  = orchv1.RetentionKind_RETENTION_KIND_TASK_RUNS
	artifactKind = orchv1.RetentionKind_RETENTION_KIND_ARTIFACTS
	logKind      = orchv1.RetentionKind_RETENTION_KIND_LOGS
	eventKind    = orchv1.RetentionKind_RETENTION_KIND_EVENTS
	deliveryKind = orchv1.RetentionKind_RETENTION_KIND_WEBHOOK_DELIVERIES
)

// keep stores documents as they would be after some time.
func keep[M proto.Message](d *domain, c query.Collection, empty M, all ...M) {
	d.t.Helper()
	st, _ := d.service.Parts()
	docs := make([]bson.Raw, len(all))
	for i, m := range all {
		var err error
		docs[i], err = store.NewDocument(request.DefaultWorkspace, m, time.Time{})
		require.NoError(d.t, err)
	}
	require.NoError(d.t, store.NewCollection(st, c, empty).InsertNew(d.t.Context(), docs))
}

// left counts the documents of a collection, including deleted ones that are not removed yet.
func (d *domain) left(c query.Collection) int {
	d.t.Helper()
	st, _ := d.service.Parts()
	n, err := store.NewCollection(st, c, &orchv1.Log{}).Count(d.t.Context(), request.DefaultWorkspace, store.Query{})
	require.NoError(d.t, err)
	pending, _, err := st.Backlog(d.t.Context(), c)
	require.NoError(d.t, err)
	return int(n + pending)
}

// ended returns a flow run that reached a state some time ago.
func ended(flow *orchv1.Flow, state orchv1.StateType, age time.Duration) *orchv1.FlowRun {
	at := timestamppb.New(time.Now().Add(-age).Truncate(time.Microsecond))
	run := &orchv1.FlowRun{
		Id: uuid.NewString(), Name: "run", FlowId: flow.GetId(), Created: at, Updated: at, ExpectedStartTime: at, SortStart: at,
		State: &orchv1.State{Id: uuid.NewString(), Type: state, Timestamp: at, Name: new("state")}, EmpiricalPolicy: &orchv1.FlowRunPolicy{},
	}
	if state != running {
		run.EndTime = at
	}
	return run
}

// taskOf returns a task run that reached a state some time ago.
func taskOf(run *orchv1.FlowRun, state orchv1.StateType, age time.Duration, tags ...string) *orchv1.TaskRun {
	at := timestamppb.New(time.Now().Add(-age).Truncate(time.Microsecond))
	task := &orchv1.TaskRun{
		Id: uuid.NewString(), Name: "task", TaskKey: "t", DynamicKey: uuid.NewString(), Created: at, Updated: at, Tags: tags, EndTime: at,
		State: &orchv1.State{Id: uuid.NewString(), Type: state, Timestamp: at, Name: new("state")},
	}
	if run != nil {
		task.FlowRunId = new(run.GetId())
	}
	return task
}

func (d *domain) retain(rules ...*orchv1.RetentionRule) {
	d.t.Helper()
	policy := call[*orchv1.RetentionPolicy](d, orchv1.RetentionService_ReplaceRetentionPolicy_FullMethodName,
		&orchv1.ReplaceRetentionPolicyRequest{Policy: &orchv1.RetentionPolicyUpdate{Rules: rules}})
	require.Len(d.t, policy.GetRules(), len(rules))
}

// expire executes retention until nothing is left, and returns the number of deleted documents of each rule.
func (d *domain) expire() []int64 {
	d.t.Helper()
	for {
		run := call[*orchv1.RetentionRun](d, orchv1.RetentionService_RunRetention_FullMethodName, &emptypb.Empty{})
		if run.GetComplete() {
			deleted := make([]int64, len(run.GetSteps()))
			for i, step := range run.GetSteps() {
				deleted[i] = step.GetDeleted()
			}
			return deleted
		}
	}
}

// Flow runs are deleted by state and age, with everything that belongs to them, and nothing else is.
func TestRetentionDeletesRunsWithTheirDependents(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	at := timestamppb.New(time.Now().Add(-100 * day))
	var stay []string
	const many = 230 // More than a batch.
	for i := range many {
		run := ended(flow, completed, 100*day+time.Duration(i)*time.Minute)
		keep(d, query.FlowRun, &orchv1.FlowRun{}, run)
		keep(d, query.FlowRunState, &orchv1.FlowRunStateRecord{}, &orchv1.FlowRunStateRecord{Id: run.GetState().GetId(), FlowRunId: run.GetId(), State: run.GetState()})
		keep(d, query.Log, &orchv1.Log{}, &orchv1.Log{Id: uuid.NewString(), Message: "m", Name: "n", Timestamp: at, FlowRunId: new(run.GetId())})
		if i < 3 {
			plain, tagged, unfinished := taskOf(run, completed, 100*day), taskOf(run, failedState, 100*day, "a"), taskOf(run, running, 100*day)
			keep(d, query.TaskRun, &orchv1.TaskRun{}, plain, tagged, unfinished)
			for _, task := range []*orchv1.TaskRun{plain, tagged, unfinished} {
				keep(d, query.TaskRunState, &orchv1.TaskRunStateRecord{},
					&orchv1.TaskRunStateRecord{Id: task.GetState().GetId(), TaskRunId: task.GetId(), State: task.GetState()})
			}
			keep(d, query.Artifact, &orchv1.Artifact{}, &orchv1.Artifact{Id: uuid.NewString(), Created: at, Updated: at, FlowRunId: new(run.GetId())})
		}
	}
	for _, run := range []*orchv1.FlowRun{
		ended(flow, completed, 10*day), ended(flow, failedState, 100*day), ended(flow, running, 100*day), ended(flow, cancelledState, 100*day),
	} {
		keep(d, query.FlowRun, &orchv1.FlowRun{}, run)
		keep(d, query.TaskRun, &orchv1.TaskRun{}, taskOf(run, completed, 100*day))
		stay = append(stay, run.GetId())
	}
	d.retain(rule(flowRunKind, 90*day, completed), rule(flowRunKind, 200*day, failedState), rule(flowRunKind, 300*day))
	plan := call[*orchv1.RetentionPlan](d, orchv1.RetentionService_PlanRetention_FullMethodName, &orchv1.PlanRetentionRequest{})
	require.Equal(t, []int64{many, 0, 0}, documents(plan))
	require.Equal(t, []int64{many, 0, 0}, d.expire())
	require.Equal(t, []int64{0, 0, 0}, d.expire())

	for c, n := range map[query.Collection]int{
		query.FlowRun: len(stay), query.TaskRun: len(stay), query.FlowRunState: 0, query.TaskRunState: 0, query.Log: 0,
	} {
		eventually(t, func() bool { return d.left(c) == n }, fmt.Sprintf("%d documents in %s", n, c))
	}
	eventually(t, func() bool { return d.left(query.Artifact) == 0 }, "no artifacts")
	for _, id := range stay {
		d.readRun(id)
	}
	// A plan with other rules deletes nothing.
	other := call[*orchv1.RetentionPlan](d, orchv1.RetentionService_PlanRetention_FullMethodName, &orchv1.PlanRetentionRequest{
		Query: &orchv1.RetentionPlanQuery{Rules: &orchv1.RetentionRules{Values: []*orchv1.RetentionRule{rule(flowRunKind, day)}}},
	})
	require.Equal(t, []int64{3}, documents(other))
	require.Equal(t, len(stay), d.left(query.FlowRun))
}

func documents(plan *orchv1.RetentionPlan) []int64 {
	var n []int64
	for _, step := range plan.GetSteps() {
		n = append(n, step.GetDocuments())
	}
	return n
}

// The other kinds are deleted by their own times, in every workspace that has rules and in no other.
func TestRetentionOfEveryKind(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	hook := call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "etl", Template: "{}"},
	}).GetId()
	old, fresh := timestamppb.New(time.Now().Add(-10*day)), timestamppb.New(time.Now().Add(-time.Minute))
	for _, at := range []*timestamppb.Timestamp{old, fresh} {
		task := taskOf(nil, completed, time.Since(at.AsTime()))
		keep(d, query.TaskRun, &orchv1.TaskRun{}, task, taskOf(nil, failedState, time.Since(at.AsTime()), "tag"))
		keep(d, query.Artifact, &orchv1.Artifact{}, &orchv1.Artifact{Id: uuid.NewString(), Created: at, Updated: at, Key: new("report")})
		keep(d, query.Log, &orchv1.Log{}, &orchv1.Log{Id: uuid.NewString(), Message: "m", Name: "n", Timestamp: at})
		keep(d, query.Event, &orchv1.ReceivedEvent{}, storedEvent(at, at), storedEvent(old, at))
		keep(d, query.WebhookDelivery, &orchv1.WebhookDelivery{}, &orchv1.WebhookDelivery{Id: uuid.NewString(), WebhookId: hook, Received: at})
	}
	d.retain(rule(taskRunKind, 7*day), rule(artifactKind, 7*day), rule(logKind, 7*day), rule(eventKind, 7*day), rule(deliveryKind, 7*day))
	want := []int64{2, 1, 1, 2, 1}
	plan := call[*orchv1.RetentionPlan](d, orchv1.RetentionService_PlanRetention_FullMethodName, &orchv1.PlanRetentionRequest{})
	require.Equal(t, want, documents(plan))

	_, reply, err := tryIn[*orchv1.RetentionRun](d, uuid.New(), orchv1.RetentionService_RunRetention_FullMethodName, &emptypb.Empty{})
	require.NoError(t, err, reply)
	require.Equal(t, 2, d.left(query.Log), "another workspace deletes nothing")
	require.Equal(t, want, d.expire())
	eventually(t, func() bool { return d.left(query.TaskRun) == 2 && d.left(query.Artifact) == 1 }, "task runs and artifacts")
	require.Equal(t, 1, d.left(query.Log))
	require.Equal(t, 1, d.left(query.WebhookDelivery))
}

func storedEvent(occurred, received *timestamppb.Timestamp) *orchv1.ReceivedEvent {
	return &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "something.happened", Occurred: occurred, Received: received,
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "thing"}},
	}
}

// The background service deletes without a call.
func TestRetentionRunsInTheBackground(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.Timers = orchestration.Timers{Retention: time.Millisecond} })
	flow := d.flow("etl")
	keep(d, query.FlowRun, &orchv1.FlowRun{}, ended(flow, completed, 100*day), ended(flow, completed, day/2))
	d.retain(rule(flowRunKind, day))
	eventually(t, func() bool { return d.left(query.FlowRun) == 1 }, "one run is left")
}

// A run that is scheduled again between the read and the write stays, with its history.
func TestRetentionLeavesRunsThatStartAgain(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	st, _ := d.service.Parts()
	runs := store.NewCollection(st, query.FlowRun, &orchv1.FlowRun{})
	run := ended(d.flow("etl"), completed, 100*day)
	keep(d, query.FlowRun, &orchv1.FlowRun{}, run, ended(d.flow("etl"), completed, 100*day))
	found, err := store.Oldest(t.Context(), runs, request.DefaultWorkspace, store.Expired{States: []string{"COMPLETED"}, Before: time.Now()}.Filter("end_time"),
		"end_time", false, []string{"end_time"}, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	_, err = runs.Mutate(t.Context(), request.DefaultWorkspace, uuid.MustParse(run.GetId()), store.Edit(func(next *orchv1.FlowRun) error {
		next.State.Type, next.EndTime = running, nil
		return nil
	}, nil))
	require.NoError(t, err)
	boxes, err := store.DeleteVersions(t.Context(), runs, request.DefaultWorkspace, found, func(*orchv1.FlowRun) []store.Effect { return nil })
	require.NoError(t, err)
	require.Len(t, boxes, 1)
	require.NotEqual(t, run.GetId(), boxes[0].ID.String())
	require.Equal(t, "RUNNING", strings.TrimPrefix(d.readRun(run.GetId()).GetState().GetType().String(), "STATE_TYPE_"))
}

// A batch that a crash interrupted is completed by the sweeper: its runs go with their logs, but for one that has changed.
func TestRetentionAfterACrash(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	st, relay := d.service.Parts()
	flow := d.flow("etl")
	for i := range 4 {
		run := ended(flow, completed, 100*day+time.Duration(i)*time.Minute)
		keep(d, query.FlowRun, &orchv1.FlowRun{}, run)
		keep(d, query.Log, &orchv1.Log{}, &orchv1.Log{Id: uuid.NewString(), Message: "m", Name: "n", Timestamp: run.GetEndTime(), FlowRunId: new(run.GetId())})
	}
	runs := store.NewCollection(st, query.FlowRun, &orchv1.FlowRun{})
	found, err := store.Oldest(t.Context(), runs, request.DefaultWorkspace, store.Expired{Before: time.Now()}.Filter("end_time"), "end_time", false, []string{"end_time"}, 10)
	require.NoError(t, err)
	require.Len(t, found, 4)
	batch := make([]store.Revision, len(found))
	for i, v := range found {
		batch[i] = store.Revision{ID: uuid.MustParse(v.Message.GetId()), Revision: v.Revision}
	}
	_, err = runs.Mutate(t.Context(), request.DefaultWorkspace, batch[2].ID, store.Edit(func(next *orchv1.FlowRun) error {
		next.Name = "changed"
		return nil
	}, nil))
	require.NoError(t, err)
	boxes, err := store.DeleteVersions(t.Context(), runs, request.DefaultWorkspace, found[:1], func(*orchv1.FlowRun) []store.Effect {
		return []store.Effect{st.AboutRevisions("flow_runs_expire", request.DefaultWorkspace, batch)}
	})
	require.NoError(t, err)
	require.Len(t, boxes, 1)
	_, err = relay.Sweep(t.Context(), 0)
	require.NoError(t, err)
	eventually(t, func() bool { return d.left(query.FlowRun) == 1 && d.left(query.Log) == 1 }, "one run and its log")
	require.Equal(t, "changed", d.readRun(batch[2].ID.String()).GetName())
}

func TestRetentionRulesAreChecked(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for name, rules := range map[string][]*orchv1.RetentionRule{
		"young":     {rule(flowRunKind, time.Minute)},
		"negative":  {rule(logKind, -day)},
		"no age":    {{Kind: logKind}},
		"states":    {rule(logKind, day, completed)},
		"running":   {rule(flowRunKind, day, running)},
		"twice":     {rule(logKind, day), rule(logKind, 2*day)},
		"one state": {rule(flowRunKind, day, failedState, completed), rule(flowRunKind, 2*day, failedState)},
	} {
		_, _, err := try[*orchv1.RetentionPolicy](d, orchv1.RetentionService_ReplaceRetentionPolicy_FullMethodName,
			&orchv1.ReplaceRetentionPolicyRequest{Policy: &orchv1.RetentionPolicyUpdate{Rules: rules}})
		code, _ := status(err)
		require.Equal(t, 422, code, name)
		_, _, err = try[*orchv1.RetentionPlan](d, orchv1.RetentionService_PlanRetention_FullMethodName,
			&orchv1.PlanRetentionRequest{Query: &orchv1.RetentionPlanQuery{Rules: &orchv1.RetentionRules{Values: rules}}})
		code, _ = status(err)
		require.Equal(t, 422, code, name)
	}
	read := call[*orchv1.RetentionPolicy](d, orchv1.RetentionService_ReadRetentionPolicy_FullMethodName, &emptypb.Empty{})
	require.Empty(t, read.GetRules())
	require.Nil(t, read.GetUpdated())
	d.retain(rule(logKind, day))
	d.retain()
	read = call[*orchv1.RetentionPolicy](d, orchv1.RetentionService_ReadRetentionPolicy_FullMethodName, &emptypb.Empty{})
	require.Empty(t, read.GetRules())
	require.Empty(t, d.expire())
}
