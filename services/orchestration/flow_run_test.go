package orchestration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const paused = orchv1.StateType_STATE_TYPE_PAUSED

func (d *domain) readRun(id string) *orchv1.FlowRun {
	d.t.Helper()
	return call[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: id})
}

func (d *domain) propose(run *orchv1.FlowRun, state *orchv1.StateCreate) *orchv1.OrchestrationResult {
	d.t.Helper()
	return call[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: state},
	})
}

func TestRunsComeInPages(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	for range 5 {
		d.run(flow)
	}
	list := call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ListFlowRuns_FullMethodName,
		&orchv1.ListFlowRunsRequest{Limit: &orchv1.PageLimit{Value: 2}, Offset: 4})
	require.Len(t, list.GetFlowRuns(), 1)
	paginate := func(number, limit int64) *orchv1.FlowRunPage {
		return call[*orchv1.FlowRunPage](d, orchv1.FlowRunService_PaginateFlowRuns_FullMethodName, &orchv1.PaginateFlowRunsRequest{
			Query: &orchv1.FlowRunPageQuery{Limit: &orchv1.PageLimit{Value: limit}, Page: number},
		})
	}
	seen := map[string]bool{}
	for number := int64(1); number <= 3; number++ {
		page := paginate(number, 2)
		require.Equal(t, []int64{5, 2, 3, number}, []int64{page.GetCount(), page.GetLimit(), page.GetPages(), page.GetPage()})
		for _, run := range page.GetResults() {
			seen[run.GetId()] = true
			require.Equal(t, pending, run.GetStateType(), "computed fields are there")
		}
	}
	require.Len(t, seen, 5)
	require.Empty(t, paginate(1<<62, 200).GetResults(), "a page beyond all runs")
	require.Zero(t, paginate(1, 0).GetPages(), "pages that hold nothing")
	_, _, err := try[*orchv1.FlowRunPage](d, orchv1.FlowRunService_PaginateFlowRuns_FullMethodName, &orchv1.PaginateFlowRunsRequest{
		Query: &orchv1.FlowRunPageQuery{Limit: &orchv1.PageLimit{Value: 201}},
	})
	code, _ := status(err)
	require.Equal(t, 422, code)

	flows := call[*orchv1.FlowPage](d, orchv1.FlowService_PaginateFlows_FullMethodName, &orchv1.PaginateFlowsRequest{Query: &orchv1.FlowPageQuery{Page: 1}})
	require.Equal(t, []int64{1, 200, 1, 1}, []int64{flows.GetCount(), flows.GetLimit(), flows.GetPages(), flows.GetPage()})
	require.Len(t, call[*orchv1.FlowList](d, orchv1.FlowService_ListFlows_FullMethodName, &orchv1.ListFlowsRequest{}).GetFlows(), 1)
}

func TestHistoryAndLateness(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	lateness := func() *orchv1.Lateness {
		return call[*orchv1.Lateness](d, orchv1.FlowRunService_AverageFlowRunLateness_FullMethodName, &orchv1.AverageFlowRunLatenessRequest{})
	}
	require.Nil(t, lateness().Seconds, "no runs, no average")
	flow := d.flow("etl")
	at := func(ago time.Duration) func(*orchv1.FlowRunCreate) {
		return func(c *orchv1.FlowRunCreate) {
			c.State = &orchv1.StateCreate{Type: scheduled, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(time.Now().Add(-ago))}}
		}
	}
	d.run(flow, at(time.Minute))
	d.run(flow, at(3*time.Minute))
	require.InDelta(t, 120, lateness().GetSeconds(), 5)
	d.run(flow, at(-time.Hour))
	require.InDelta(t, 80, lateness().GetSeconds(), 5, "runs that are not late count too")

	buckets := call[*orchv1.HistoryList](d, orchv1.FlowRunService_ReadFlowRunHistory_FullMethodName, &orchv1.ReadFlowRunHistoryRequest{
		Query: &orchv1.FlowRunHistoryQuery{
			HistoryStart: timestamppb.New(time.Now().Add(-time.Hour)), HistoryEnd: timestamppb.New(time.Now()), HistoryIntervalSeconds: 600,
		},
	}).GetHistory()
	require.GreaterOrEqual(t, len(buckets), 6)
	require.Equal(t, int64(2), buckets[5].GetStates()[0].GetCountRuns())
	_, _, err := try[*orchv1.HistoryList](d, orchv1.FlowRunService_ReadFlowRunHistory_FullMethodName, &orchv1.ReadFlowRunHistoryRequest{
		Query: &orchv1.FlowRunHistoryQuery{HistoryStart: timestamppb.Now(), HistoryEnd: timestamppb.Now(), HistoryIntervalSeconds: 0.5},
	})
	code, _ := status(err)
	require.Equal(t, 422, code)
}

func TestInputsAreKeptByKey(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"))
	create := func(id, key, value string) error {
		return second(try[*emptypb.Empty](d, orchv1.FlowRunInputService_CreateFlowRunInput_FullMethodName, &orchv1.CreateFlowRunInputRequest{
			Id: id, Input: &orchv1.FlowRunInputCreate{Key: key, Value: value, Sender: new("me")},
		}))
	}
	read := func(key string) (string, error) {
		body, _, err := try[*httpbody.HttpBody](d, orchv1.FlowRunInputService_ReadFlowRunInput_FullMethodName, &orchv1.ReadFlowRunInputRequest{Id: run.GetId(), Key: key})
		return string(body.GetData()), err
	}
	filter := func(q *orchv1.FlowRunInputQuery) []string {
		var keys []string
		for _, input := range call[*orchv1.FlowRunInputList](d, orchv1.FlowRunInputService_ReadFlowRunInputs_FullMethodName,
			&orchv1.ReadFlowRunInputsRequest{Id: run.GetId(), Query: q}).GetInputs() {
			keys = append(keys, input.GetKey())
		}
		return keys
	}
	hostile := "a.$where\x00\U0010FFFF/é"
	for _, key := range []string{"a-2", "a-1", "b", hostile} {
		require.NoError(t, create(run.GetId(), key, `{"key": "`+key+`"}`))
	}
	code, text := status(create(run.GetId(), "b", "again"))
	require.Equal(t, 409, code)
	require.Equal(t, "A flow run input with this key already exists.", text)
	code, _ = status(create(uuid.NewString(), "b", "nobody's"))
	require.Equal(t, 404, code)

	value, err := read(hostile)
	require.NoError(t, err)
	require.Equal(t, `{"key": "`+hostile+`"}`, value, "the value is what was sent")
	require.Equal(t, []string{"a-2", "a-1"}, filter(&orchv1.FlowRunInputQuery{Prefix: "a-", Limit: 10}), "oldest first")
	require.Equal(t, []string{"a-2"}, filter(&orchv1.FlowRunInputQuery{Prefix: "a", Limit: 1}))
	require.Equal(t, []string{"a-1"}, filter(&orchv1.FlowRunInputQuery{Prefix: "a", Limit: 1, ExcludeKeys: []string{"a-2"}}))
	require.Equal(t, []string{hostile}, filter(&orchv1.FlowRunInputQuery{Prefix: "a.$where\x00", Limit: 9}))
	require.Len(t, filter(&orchv1.FlowRunInputQuery{Limit: 9}), 4)
	require.Empty(t, filter(&orchv1.FlowRunInputQuery{Limit: 0}))

	remove := &orchv1.DeleteFlowRunInputRequest{Id: run.GetId(), Key: "b"}
	call[*emptypb.Empty](d, orchv1.FlowRunInputService_DeleteFlowRunInput_FullMethodName, remove)
	_, err = read("b")
	code, text = status(err)
	require.Equal(t, 404, code)
	require.Equal(t, "Flow run input not found", text)
	code, _ = status(second(try[*emptypb.Empty](d, orchv1.FlowRunInputService_DeleteFlowRunInput_FullMethodName, remove)))
	require.Equal(t, 404, code)
	require.NoError(t, create(run.GetId(), "b", "again"), "the key is free again")

	call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: run.GetId()})
	eventually(t, func() bool { _, err := read("a-1"); code, _ := status(err); return code == 404 }, "inputs go with their run")
}

func TestResume(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	resume := func(run *orchv1.FlowRun, input string) (*orchv1.OrchestrationResult, int) {
		r := &orchv1.ResumeFlowRunRequest{Id: run.GetId(), Resumption: &orchv1.FlowRunResumption{}}
		if input != "" {
			r.Resumption.RunInput = []byte(input)
		}
		result, reply, err := try[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_ResumeFlowRun_FullMethodName, r)
		require.NoError(t, err)
		return result, reply.Status
	}
	pause := func(details *orchv1.StateDetails) *orchv1.FlowRun {
		run := d.run(flow)
		d.setState(run, running)
		details.PauseTimeout = timestamppb.New(time.Now().Add(time.Hour))
		require.Equal(t, paused, d.propose(run, &orchv1.StateCreate{Type: paused, StateDetails: details}).GetState().GetType())
		return run
	}

	result, code := resume(d.run(flow), "")
	require.Zero(t, code, "200")
	require.Nil(t, result.State)
	require.Equal(t, "Cannot resume a flow run that is not paused.", result.GetDetails().GetAbort().GetReason())

	result, code = resume(pause(&orchv1.StateDetails{}), "")
	require.Equal(t, http.StatusCreated, code)
	require.Equal(t, running, result.GetState().GetType())

	_, _, err := try[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_ResumeFlowRun_FullMethodName, &orchv1.ResumeFlowRunRequest{Id: uuid.NewString()})
	code, _ = status(err)
	require.Equal(t, 404, code)

	waiting := pause(&orchv1.StateDetails{RunInputKeyset: &orchv1.StringMap{Values: map[string]string{
		"description": "d", "response": "in-response", "schema": "in-schema",
	}}})
	schema := func(text string) {
		_, _, _ = try[*emptypb.Empty](d, orchv1.FlowRunInputService_DeleteFlowRunInput_FullMethodName, &orchv1.DeleteFlowRunInputRequest{Id: waiting.GetId(), Key: "in-schema"})
		call[*emptypb.Empty](d, orchv1.FlowRunInputService_CreateFlowRunInput_FullMethodName, &orchv1.CreateFlowRunInputRequest{
			Id: waiting.GetId(), Input: &orchv1.FlowRunInputCreate{Key: "in-schema", Value: text},
		})
	}
	refused := func(input, reason string) {
		t.Helper()
		result, code := resume(waiting, input)
		require.Zero(t, code)
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, result.GetStatus())
		require.Equal(t, paused, result.GetState().GetType(), "the state is the current one")
		require.Contains(t, result.GetDetails().GetAbort().GetReason(), reason)
	}
	refused(`{"n": 1}`, "Run input schema not found.")
	schema(`{`)
	refused(`{"n": 1}`, "Run input schema is not valid JSON.")
	schema(`{"$ref": "https://schemas.test/elsewhere.json"}`)
	refused(`{"n": 1}`, "Invalid schema")
	schema(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)
	refused(``, "n")
	refused(`{"n": "many"}`, "n")
	result, code = resume(waiting, `{"n": 12345678901234567890}`)
	require.Equal(t, http.StatusCreated, code)
	require.Equal(t, running, result.GetState().GetType())
	body := call[*httpbody.HttpBody](d, orchv1.FlowRunInputService_ReadFlowRunInput_FullMethodName, &orchv1.ReadFlowRunInputRequest{Id: waiting.GetId(), Key: "in-response"})
	require.Equal(t, `{"n": 12345678901234567890}`, string(body.GetData()), "who sees Running finds the input")
	require.Contains(t, body.GetContentType(), "text/plain")
}

func TestLabelsAreMerged(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"))
	label := func(text string) error {
		return second(try[*emptypb.Empty](d, orchv1.FlowRunService_UpdateFlowRunLabels_FullMethodName, &orchv1.UpdateFlowRunLabelsRequest{
			Id: run.GetId(), Labels: []byte(text),
		}))
	}
	require.NoError(t, label(`{"a": 1, "b.$c": true}`))
	require.NoError(t, label(`{"a": "x"}`))
	labels := d.readRun(run.GetId()).GetLabels()
	require.Equal(t, "x", labels["a"].GetStringValue())
	require.True(t, labels["b.$c"].GetBoolean())
	require.Equal(t, run.GetFlowId(), labels["orch.flow.id"].GetStringValue(), "the others stay")
	code, _ := status(label(`{"a": [1]}`))
	require.Equal(t, 422, code)
	run.Id = uuid.NewString()
	err := label(`{}`)
	code, _ = status(err)
	require.Equal(t, 404, code)
	require.Equal(t, "Flow run with id "+run.Id+" not found", rpc.HTTPError(err).GetExceptionMessage())
}

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow, other := d.flow("etl"), d.flow("other")
	for range 3 {
		d.run(flow)
	}
	keep := d.run(other)
	states := call[*orchv1.FlowRunBulkSetStateResponse](d, orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName, &orchv1.BulkSetFlowRunStateRequest{
		Transition: &orchv1.FlowRunBulkTransition{State: &orchv1.StateCreate{Type: running}, Limit: 2},
	})
	require.Len(t, states.GetResults(), 2)
	for _, result := range states.GetResults() {
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, result.GetStatus())
		require.Equal(t, running, d.readRun(result.GetFlowRunId()).GetStateType())
	}
	gone := call[*orchv1.FlowRunBulkDeleteResponse](d, orchv1.FlowRunService_BulkDeleteFlowRuns_FullMethodName, &orchv1.BulkDeleteFlowRunsRequest{
		Query: &orchv1.FlowRunBulkDeletion{Limit: 50, FlowRuns: &orchv1.FlowRunFilter{Id: &orchv1.UuidFilter{
			NotAny_: &orchv1.UuidList{Values: []string{keep.GetId()}},
		}}},
	})
	require.Len(t, gone.GetDeleted(), 3)
	left := call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ListFlowRuns_FullMethodName, &orchv1.ListFlowRunsRequest{}).GetFlowRuns()
	require.Len(t, left, 1)
	require.Equal(t, keep.GetId(), left[0].GetId())

	flows := call[*orchv1.FlowBulkDeleteResponse](d, orchv1.FlowService_BulkDeleteFlows_FullMethodName, &orchv1.BulkDeleteFlowsRequest{
		Query: &orchv1.FlowBulkDeletion{Limit: 1},
	})
	require.Equal(t, []string{flow.GetId()}, flows.GetDeleted())
}

func TestFlowIsCreatedOrReplaced(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	put := func(create *orchv1.FlowCreate) (*orchv1.Flow, int, error) {
		flow, reply, err := try[*orchv1.Flow](d, orchv1.FlowService_ReplaceFlow_FullMethodName, &orchv1.ReplaceFlowRequest{Id: id, Flow: create})
		return flow, reply.Status, err
	}
	flow, code, err := put(&orchv1.FlowCreate{Name: "a", Tags: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, code)
	require.Equal(t, id, flow.GetId())
	again, code, err := put(&orchv1.FlowCreate{Name: "b"})
	require.NoError(t, err)
	require.Zero(t, code, "200")
	require.Empty(t, again.GetTags(), "what is not sent is as in a new flow")
	require.Equal(t, flow.GetCreated().AsTime(), again.GetCreated().AsTime())
	d.flow("taken")
	_, _, err = put(&orchv1.FlowCreate{Name: "taken"})
	code, _ = status(err)
	require.Equal(t, 409, code)
	id = uuid.NewString()
	_, _, err = put(&orchv1.FlowCreate{Name: "taken"})
	code, _ = status(err)
	require.Equal(t, 409, code)
}

// Runs of an automation name it.
func TestRunsTellOfTheAutomationThatMadeThem(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	by := request.Automation{ID: uuid.New(), Name: "nightly wäsche"}
	ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace, Automation: by})
	want := &orchv1.CreatedBy{Id: new(by.ID.String()), Type: new("AUTOMATION"), DisplayValue: &by.Name}
	flow := d.flow("f")
	made := func(method string, r proto.Message) proto.Message {
		response, _, err := d.Call(ctx, method, r)
		require.NoError(t, err)
		return response
	}
	run := made(orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{FlowRun: &orchv1.FlowRunCreate{FlowId: flow.GetId()}})
	require.True(t, proto.Equal(want, d.readRun(run.(*orchv1.FlowRun).GetId()).GetCreatedBy()))
	create := &orchv1.DeploymentCreate{Name: "d", FlowId: flow.GetId()}
	deployment := made(orchv1.DeploymentService_CreateDeployment_FullMethodName, &orchv1.CreateDeploymentRequest{Deployment: create, UpdateMask: sentFields(create)})
	id := deployment.(*orchv1.Deployment).GetId()
	require.True(t, proto.Equal(want, d.readDeployment(id).GetCreatedBy()))
	require.Equal(t, by.Name, d.readDeployment(id).GetUpdatedBy().GetDisplayValue())
	run = made(orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName, &orchv1.CreateFlowRunFromDeploymentRequest{
		Id: id, FlowRun: &orchv1.DeploymentFlowRunCreate{},
	})
	require.True(t, proto.Equal(want, d.readRun(run.(*orchv1.FlowRun).GetId()).GetCreatedBy()))
	require.Nil(t, d.run(flow).GetCreatedBy())
}
