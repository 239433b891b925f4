package orchestration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	stScheduled = orchv1.StateType_STATE_TYPE_SCHEDULED
	stPending   = orchv1.StateType_STATE_TYPE_PENDING
	stRunning   = orchv1.StateType_STATE_TYPE_RUNNING
	stCompleted = orchv1.StateType_STATE_TYPE_COMPLETED
	stFailed    = orchv1.StateType_STATE_TYPE_FAILED
)

// task creates a task run of a flow run, or of none.
func (d *domain) task(flowRun *orchv1.FlowRun, key string, edits ...func(*orchv1.TaskRunCreate)) *orchv1.TaskRun {
	d.t.Helper()
	create := &orchv1.TaskRunCreate{TaskKey: "task", DynamicKey: key}
	if flowRun != nil {
		create.FlowRunId = new(flowRun.GetId())
	}
	for _, edit := range edits {
		edit(create)
	}
	return call[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{TaskRun: create})
}

// setTask proposes a state of a task run.
func (d *domain) setTask(run *orchv1.TaskRun, state *orchv1.StateCreate) *orchv1.OrchestrationResult {
	d.t.Helper()
	return call[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
		&orchv1.SetTaskRunStateRequest{Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: state}})
}

func (d *domain) readTask(id string) *orchv1.TaskRun {
	d.t.Helper()
	return call[*orchv1.TaskRun](d, orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: id})
}

func (d *domain) taskStates(id string) []*orchv1.State {
	d.t.Helper()
	return call[*orchv1.StateList](d, orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName,
		&orchv1.ReadTaskRunStatesRequest{TaskRunId: id}).GetStates()
}

func to(kind orchv1.StateType) *orchv1.StateCreate { return &orchv1.StateCreate{Type: kind} }

// runningFlow is a flow run whose tasks may run.
func (d *domain) runningFlow(name string) *orchv1.FlowRun {
	d.t.Helper()
	run := d.run(d.flow(name))
	d.setState(run, stRunning)
	return run
}

func TestTaskRunIsCreatedOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("f")
	create := func(c *orchv1.TaskRunCreate) (*orchv1.TaskRun, int) {
		run, reply, err := try[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{TaskRun: c})
		require.NoError(t, err)
		return run, reply.Status
	}
	mine := uuid.NewString()
	first, code := create(&orchv1.TaskRunCreate{Id: &mine, FlowRunId: &flowRun.Id, TaskKey: "a", DynamicKey: "0", Name: "a-0"})
	require.Equal(t, http.StatusCreated, code)
	require.Equal(t, mine, first.GetId())
	require.Equal(t, "Pending", first.GetStateName())
	require.Equal(t, first.GetId(), first.GetState().GetStateDetails().GetTaskRunId())
	require.Equal(t, flowRun.GetId(), first.GetState().GetStateDetails().GetFlowRunId())
	labels := first.GetLabels().GetValues()
	require.Equal(t, flowRun.GetFlowId(), labels["orch.flow.id"].GetStringValue())
	require.Equal(t, flowRun.GetId(), labels["orch.flow-run.id"].GetStringValue())

	again, code := create(&orchv1.TaskRunCreate{Id: new(uuid.NewString()), FlowRunId: &flowRun.Id, TaskKey: "a", DynamicKey: "0", Name: "other"})
	require.Equal(t, 0, code)
	require.Equal(t, mine, again.GetId())
	require.Equal(t, "a-0", again.GetName())

	alone, code := create(&orchv1.TaskRunCreate{TaskKey: "a", DynamicKey: "0"})
	require.Equal(t, http.StatusCreated, code)
	require.Regexp(t, "^[a-z]+-[a-z]+$", alone.GetName())
	require.Empty(t, alone.GetLabels().GetValues())
	again, code = create(&orchv1.TaskRunCreate{TaskKey: "a", DynamicKey: "0"})
	require.Equal(t, 0, code)
	require.Equal(t, alone.GetId(), again.GetId())

	for name, c := range map[string]struct {
		create *orchv1.TaskRunCreate
		status int
	}{
		"a taken id":  {&orchv1.TaskRunCreate{Id: &mine, TaskKey: "b", DynamicKey: "0"}, 409},
		"no flow run": {&orchv1.TaskRunCreate{FlowRunId: new(uuid.NewString()), TaskKey: "b", DynamicKey: "0"}, 409},
		"many delays": {&orchv1.TaskRunCreate{TaskKey: "b", DynamicKey: "0", EmpiricalPolicy: &orchv1.TaskRunPolicy{
			RetryDelay: &orchv1.RetryDelay{Kind: &orchv1.RetryDelay_Numbers{Numbers: &orchv1.NumberList{Values: make([]float64, 51)}}},
		}}, 422},
		"less jitter than none": {&orchv1.TaskRunCreate{TaskKey: "b", DynamicKey: "0", EmpiricalPolicy: &orchv1.TaskRunPolicy{
			RetryJitterFactor: new(-0.5),
		}}, 422},
		"a long key":    {&orchv1.TaskRunCreate{TaskKey: "b", DynamicKey: "0", CacheKey: new(strings.Repeat("é", 2001))}, 422},
		"a cluttered k": {&orchv1.TaskRunCreate{FlowRunId: new(uuid.NewString()), TaskKey: "$b.\x00", DynamicKey: "{}"}, 409},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := try[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{TaskRun: c.create})
			got, _ := status(err)
			require.Equal(t, c.status, got, name)
		})
	}
}

func TestTaskRunKeepsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	input := &orchv1.TaskInputList{Values: []*orchv1.TaskInput{
		{Kind: &orchv1.TaskInput_TaskRun{TaskRun: &orchv1.TaskInputTaskRun{Id: uuid.NewString()}}},
		{Kind: &orchv1.TaskInput_FlowRun{FlowRun: &orchv1.TaskInputFlowRun{Id: uuid.NewString()}}},
		{Kind: &orchv1.TaskInput_Parameter{Parameter: &orchv1.TaskInputParameter{Name: "p"}}},
		{Kind: &orchv1.TaskInput_Constant{Constant: &orchv1.TaskInputConstant{Type: "int"}}},
	}}
	expires := timestamppb.New(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	run := d.task(nil, "$0.", func(c *orchv1.TaskRunCreate) {
		c.TaskInputs = map[string]*orchv1.TaskInputList{"$x.y": input, "": {}}
		c.Tags = []string{"b", "a"}
		c.CacheKey, c.CacheExpiration, c.TaskVersion = new("k"), expires, new("v1")
		c.EmpiricalPolicy = &orchv1.TaskRunPolicy{
			Retries: new(int64(2)), RetryJitterFactor: new(0.5),
			RetryDelay: &orchv1.RetryDelay{Kind: &orchv1.RetryDelay_Numbers{Numbers: &orchv1.NumberList{Values: []float64{1, 2.5}}}},
		}
	})
	got := d.readTask(run.GetId())
	require.Equal(t, "$0.", got.GetDynamicKey())
	require.Len(t, got.GetTaskInputs(), 2)
	require.Equal(t, input.String(), got.GetTaskInputs()["$x.y"].String())
	require.Equal(t, []string{"b", "a"}, got.GetTags())
	require.Equal(t, []float64{1, 2.5}, got.GetEmpiricalPolicy().GetRetryDelay().GetNumbers().GetValues())
	require.Equal(t, expires.AsTime(), got.GetCacheExpiration().AsTime())
	require.Equal(t, "v1", got.GetTaskVersion())

	update := &orchv1.UpdateTaskRunRequest{Id: run.GetId(), TaskRun: &orchv1.TaskRunUpdate{Name: "new"}}
	call[*emptypb.Empty](d, orchv1.TaskRunService_UpdateTaskRun_FullMethodName, update)
	require.Equal(t, run.GetName(), d.readTask(run.GetId()).GetName(), "what the mask does not name stays")
	update.UpdateMask = &fieldmaskpb.FieldMask{Paths: []string{"name"}}
	call[*emptypb.Empty](d, orchv1.TaskRunService_UpdateTaskRun_FullMethodName, update)
	require.Equal(t, "new", d.readTask(run.GetId()).GetName())
}

func TestTaskRunLife(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("f")
	run := d.task(flowRun, "0", func(c *orchv1.TaskRunCreate) { c.EmpiricalPolicy = &orchv1.TaskRunPolicy{Retries: new(int64(1))} })
	require.Equal(t, "Running", d.setTask(run, to(stRunning)).GetState().GetName())
	retry := d.setTask(run, to(stFailed))
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, retry.GetStatus())
	require.Equal(t, "AwaitingRetry", retry.GetState().GetName())
	require.Equal(t, "Retrying", d.setTask(run, to(stRunning)).GetState().GetName())
	require.Equal(t, "Failed", d.setTask(run, to(stFailed)).GetState().GetName())

	got := d.readTask(run.GetId())
	require.Equal(t, int64(2), got.GetRunCount())
	require.Equal(t, int64(1), got.GetFlowRunRunCount())
	require.NotNil(t, got.EndTime)
	var names []string
	states := d.taskStates(run.GetId())
	for _, s := range states {
		names = append(names, s.GetName())
		one := call[*orchv1.State](d, orchv1.TaskRunStateService_ReadTaskRunState_FullMethodName, &orchv1.ReadTaskRunStateRequest{Id: s.GetId()})
		require.Equal(t, s.GetName(), one.GetName())
	}
	require.Equal(t, []string{"Pending", "Running", "AwaitingRetry", "Retrying", "Failed"}, names)

	eventually(t, func() bool {
		page := d.events(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{
			Name: &orchv1.StringList{Values: []string{"orch.task-run.AwaitingRetry"}},
		}})
		if len(page.GetEvents()) == 0 {
			return false
		}
		e := page.GetEvents()[0]
		return e.GetId() == states[2].GetId() && e.GetFollows() == states[1].GetId() &&
			e.GetResource().GetLabels()["orch.orchestration"] == "server" && len(e.GetRelated()) == 2
	}, "the event of the transition")
}

func TestTasksOfStoppedFlowsDoNotRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.run(d.flow("f"))
	run := d.task(flowRun, "0")
	answer, reply, err := try[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
		&orchv1.SetTaskRunStateRequest{Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(stRunning)}})
	require.NoError(t, err)
	require.Equal(t, 0, reply.Status)
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, answer.GetStatus())

	_, reply, err = try[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
		&orchv1.SetTaskRunStateRequest{Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(stRunning), Force: true}})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status)
	require.Equal(t, int64(1), d.readTask(run.GetId()).GetRunCount())
}

func TestCompletedTaskIsTakenFromTheCache(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("f")
	complete := func(key string, data string, expiration *timestamppb.Timestamp) {
		run := d.task(flowRun, data)
		d.setTask(run, to(stRunning))
		d.setTask(run, &orchv1.StateCreate{Type: stCompleted, Data: []byte(data), StateDetails: &orchv1.StateDetails{CacheKey: &key, CacheExpiration: expiration}})
	}
	start := func(key string) *orchv1.OrchestrationResult {
		return d.setTask(d.task(flowRun, uuid.NewString()), &orchv1.StateCreate{Type: stRunning, StateDetails: &orchv1.StateDetails{CacheKey: &key}})
	}
	complete("k", `{"n":1}`, nil)
	complete("past", `{"n":2}`, timestamppb.New(time.Now().Add(-time.Hour)))
	complete("future", `{"n":3}`, timestamppb.New(time.Now().Add(time.Hour)))
	for key, data := range map[string]string{"k": `{"n":1}`, "future": `{"n":3}`} {
		got := start(key)
		require.Equal(t, "Cached", got.GetState().GetName(), "the next run knows of it")
		require.Equal(t, stCompleted, got.GetState().GetType())
		require.Equal(t, data, string(got.GetState().GetData()))
	}
	require.Equal(t, "Running", start("past").GetState().GetName())
	require.Equal(t, "Running", start("other").GetState().GetName())
	complete("k", `{"n":4}`, nil)
	require.Equal(t, `{"n":4}`, string(start("k").GetState().GetData()), "the newest entry")
}

func TestBackgroundRunIsTakenOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	parameters := uuid.NewString()
	run := d.task(nil, "0", func(c *orchv1.TaskRunCreate) {
		c.State = &orchv1.StateCreate{Type: stScheduled, StateDetails: &orchv1.StateDetails{Deferred: new(true), TaskParametersId: &parameters}}
	})
	require.NotNil(t, run.NextScheduledStartTime)
	taken := d.setTask(run, to(stPending))
	require.Equal(t, parameters, taken.GetState().GetStateDetails().GetTaskParametersId())
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, d.setTask(run, to(stPending)).GetStatus())
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(run, to(stRunning)).GetStatus())
}

// A run without a flow run that nobody deferred is judged like any other: its infrastructure may be started again.
func TestLonelyRunMayBecomePendingAgain(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.task(nil, "0")
	for range 2 {
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(run, to(stPending)).GetStatus())
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setTask(run, to(stRunning)).GetStatus())
	}
	deferred := to(stPending)
	deferred.StateDetails = &orchv1.StateDetails{Deferred: new(true)}
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, d.setTask(run, deferred).GetStatus())
}

func TestParentTaskRunFollowsItsSubflow(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	parent := d.task(d.runningFlow("outer"), "0")
	child := d.run(d.flow("inner"), func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId = new(parent.GetId()) })
	for _, kind := range []orchv1.StateType{stRunning, stCompleted} {
		d.setState(child, kind)
	}
	eventually(t, func() bool { return d.readTask(parent.GetId()).GetState().GetType() == stCompleted }, "the subflow's end")
	var names []string
	states := d.taskStates(parent.GetId())
	for _, s := range states {
		names = append(names, s.GetName())
	}
	require.Equal(t, []string{"Pending", "Pending", "Running", "Completed"}, names)
	last := states[3].GetStateDetails()
	require.Equal(t, child.GetId(), last.GetChildFlowRunId())
	require.Equal(t, parent.GetFlowRunId(), last.GetFlowRunId())
	require.Equal(t, parent.GetId(), last.GetTaskRunId())

	withSubflow := call[*orchv1.TaskRunList](d, orchv1.TaskRunService_ReadTaskRuns_FullMethodName, &orchv1.ReadTaskRunsRequest{
		Query: &orchv1.TaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{SubflowRuns: &orchv1.ExistsFilter{Exists_: new(true)}}},
	})
	require.Len(t, withSubflow.GetTaskRuns(), 1)

	_, _, err := try[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{
		FlowRun: &orchv1.FlowRunCreate{FlowId: d.flow("inner").GetId(), ParentTaskRunId: new(uuid.NewString())},
	})
	code, _ := status(err)
	require.Equal(t, 409, code, "a parent that is not known")

	// A parent that is no more keeps nobody from going on.
	lost := d.task(d.runningFlow("g"), "0")
	orphan := d.run(d.flow("inner"), func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId = &lost.Id })
	call[*emptypb.Empty](d, orchv1.TaskRunService_DeleteTaskRun_FullMethodName, &orchv1.DeleteTaskRunRequest{Id: lost.GetId()})
	require.Equal(t, "Running", d.setState(orphan, stRunning).GetState().GetName())
}

func TestTaskRunsGoWithTheirFlowRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun, other := d.runningFlow("f"), d.runningFlow("g")
	gone, stays := d.task(flowRun, "0"), d.task(other, "0")
	call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: flowRun.GetId()})
	_, _, err := try[*orchv1.TaskRun](d, orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: gone.GetId()})
	require.Error(t, err, "the task runs of a deleted flow run")
	eventually(t, func() bool { return len(d.taskStates(gone.GetId())) == 0 }, "and their history")
	require.Equal(t, stays.GetId(), d.readTask(stays.GetId()).GetId())
	call[*emptypb.Empty](d, orchv1.TaskRunService_DeleteTaskRun_FullMethodName, &orchv1.DeleteTaskRunRequest{Id: stays.GetId()})
	eventually(t, func() bool { return len(d.taskStates(stays.GetId())) == 0 }, "the history of a deleted task run")
	require.Equal(t, stays.GetTaskKey(), d.task(other, "0").GetTaskKey(), "its keys are free again")
}

func TestUnknownTaskRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	_, _, read := try[*orchv1.TaskRun](d, orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: id})
	_, _, update := try[*emptypb.Empty](d, orchv1.TaskRunService_UpdateTaskRun_FullMethodName, &orchv1.UpdateTaskRunRequest{Id: id})
	_, _, remove := try[*emptypb.Empty](d, orchv1.TaskRunService_DeleteTaskRun_FullMethodName, &orchv1.DeleteTaskRunRequest{Id: id})
	_, _, set := try[*orchv1.OrchestrationResult](d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
		&orchv1.SetTaskRunStateRequest{Id: id, Transition: &orchv1.TaskRunTransition{State: to(stRunning)}})
	_, _, state := try[*orchv1.State](d, orchv1.TaskRunStateService_ReadTaskRunState_FullMethodName, &orchv1.ReadTaskRunStateRequest{Id: id})
	for text, err := range map[string]error{
		"Task not found":                        read,
		"Task run not found":                    update,
		"Task run with id " + id + " not found": set,
		"Task run state not found":              state,
	} {
		code, got := status(err)
		require.Equal(t, 404, code)
		require.Equal(t, text, got)
	}
	code, got := status(remove)
	require.Equal(t, 404, code)
	require.Equal(t, "Task not found", got)
	require.Empty(t, d.taskStates(id))
}

func TestTaskRunsAreFound(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	one, two := d.runningFlow("one"), d.runningFlow("two")
	a := d.task(one, "a", func(c *orchv1.TaskRunCreate) { c.Name = "alpha"; c.Tags = []string{"x"} })
	b := d.task(two, "b", func(c *orchv1.TaskRunCreate) { c.Name = "beta" })
	c := d.task(nil, "c", func(c *orchv1.TaskRunCreate) { c.Name = "gamma" })
	d.setTask(a, to(stRunning))
	ids := func(list *orchv1.TaskRunList) []string {
		var found []string
		for _, r := range list.GetTaskRuns() {
			found = append(found, r.GetName())
		}
		return found
	}
	list := call[*orchv1.TaskRunList](d, orchv1.TaskRunService_ListTaskRuns_FullMethodName, &orchv1.ListTaskRunsRequest{Offset: 1})
	require.Equal(t, []string{"beta", "alpha"}, ids(list))
	for _, q := range []struct {
		name  string
		query *orchv1.TaskRunQuery
		want  []string
	}{
		{"all, newest first", &orchv1.TaskRunQuery{}, []string{"gamma", "beta", "alpha"}},
		{"by name", &orchv1.TaskRunQuery{Sort: orchv1.TaskRunSort_TASK_RUN_SORT_NAME_ASC}, []string{"alpha", "beta", "gamma"}},
		{"by creation", &orchv1.TaskRunQuery{Sort: orchv1.TaskRunSort_TASK_RUN_SORT_CREATED_DESC}, []string{"gamma", "beta", "alpha"}},
		{"limit", &orchv1.TaskRunQuery{Limit: &orchv1.PageLimit{Value: 1}, Offset: 1}, []string{"beta"}},
		{"none", &orchv1.TaskRunQuery{Limit: &orchv1.PageLimit{}}, nil},
		{"flow run", &orchv1.TaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{FlowRunId: &orchv1.TaskRunFilterFlowRunId{
			Any_: &orchv1.UuidList{Values: []string{one.GetId()}}, IsNull_: new(false),
		}}}, []string{"alpha"}},
		{"no flow run", &orchv1.TaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{FlowRunId: &orchv1.TaskRunFilterFlowRunId{IsNull_: new(true)}}}, []string{"gamma"}},
		{"state", &orchv1.TaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{State: &orchv1.TaskRunFilterState{
			Type: &orchv1.AnyStateTypeFilter{Any_: &orchv1.StateTypeList{Values: []orchv1.StateType{stRunning}}},
		}}}, []string{"alpha"}},
		{"flow", &orchv1.TaskRunQuery{Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Like_: new("tw")}}}, []string{"beta"}},
		{"flow run's state", &orchv1.TaskRunQuery{FlowRuns: &orchv1.FlowRunFilter{State: &orchv1.FlowRunFilterState{
			Name: &orchv1.StringFilter{Any_: &orchv1.StringList{Values: []string{"Running"}}},
		}}}, []string{"beta", "alpha"}},
		{"tags", &orchv1.TaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{Tags: &orchv1.AllTagsFilter{All_: &orchv1.AllOfList{Values: []string{"x"}}}}}, []string{"alpha"}},
	} {
		t.Run(q.name, func(t *testing.T) {
			got := call[*orchv1.TaskRunList](d, orchv1.TaskRunService_ReadTaskRuns_FullMethodName, &orchv1.ReadTaskRunsRequest{Query: q.query})
			require.Equal(t, q.want, ids(got), q.name)
		})
	}
	count := call[*orchv1.CountResponse](d, orchv1.TaskRunService_CountTaskRuns_FullMethodName,
		&orchv1.CountTaskRunsRequest{Query: &orchv1.TaskRunCountQuery{Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Like_: new("o")}}}})
	require.Equal(t, int64(2), count.GetCount())
	page := call[*orchv1.TaskRunPage](d, orchv1.TaskRunService_PaginateTaskRuns_FullMethodName,
		&orchv1.PaginateTaskRunsRequest{Query: &orchv1.TaskRunPageQuery{Limit: &orchv1.PageLimit{Value: 2}, Page: 2}})
	require.Equal(t, int64(3), page.GetCount())
	require.Equal(t, int64(2), page.GetPages())
	require.Equal(t, int64(2), page.GetPage())
	require.Len(t, page.GetResults(), 1)
	require.Equal(t, a.GetId(), page.GetResults()[0].GetId())
	require.Equal(t, stRunning, page.GetResults()[0].GetState().GetType())

	_, _, err := try[*orchv1.TaskRunList](d, orchv1.TaskRunService_ReadTaskRuns_FullMethodName,
		&orchv1.ReadTaskRunsRequest{Query: &orchv1.TaskRunQuery{Limit: &orchv1.PageLimit{Value: 201}}})
	code, text := status(err)
	require.Equal(t, 422, code)
	require.Equal(t, "Invalid limit: must be less than or equal to 200.", text)

	start := b.GetExpectedStartTime().AsTime().Truncate(time.Hour)
	history := call[*orchv1.HistoryList](d, orchv1.TaskRunService_TaskRunHistory_FullMethodName, &orchv1.TaskRunHistoryRequest{
		Query: &orchv1.TaskRunHistoryQuery{
			HistoryStart: timestamppb.New(start.Add(-time.Hour)), HistoryEnd: timestamppb.New(start.Add(2 * time.Hour)), HistoryIntervalSeconds: 3600 * 3,
		},
	})
	require.Len(t, history.GetHistory(), 1)
	states := history.GetHistory()[0].GetStates()
	require.Len(t, states, 2)
	require.Equal(t, "Pending", states[0].GetStateName())
	require.Equal(t, int64(2), states[0].GetCountRuns())
	require.Equal(t, "Running", states[1].GetStateName())
	require.Equal(t, int64(1), states[1].GetCountRuns())
	require.NotEmpty(t, c.GetId())
}
