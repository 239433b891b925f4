package orchestration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	scheduled = orchv1.StateType_STATE_TYPE_SCHEDULED
	pending   = orchv1.StateType_STATE_TYPE_PENDING
	running   = orchv1.StateType_STATE_TYPE_RUNNING
	completed = orchv1.StateType_STATE_TYPE_COMPLETED
)

func TestFlowIsKnownByItsName(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	create := &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl", Tags: []string{"a"}}}
	first, reply, err := try[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName, create)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status)
	again, reply, err := try[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName, create)
	require.NoError(t, err)
	require.Zero(t, reply.Status, "the documented status says that it existed")
	require.Equal(t, first.GetId(), again.GetId())

	byName := call[*orchv1.Flow](d, orchv1.FlowService_ReadFlowByName_FullMethodName, &orchv1.ReadFlowByNameRequest{Name: "etl"})
	require.Equal(t, first.GetId(), byName.GetId())

	other := uuid.New()
	elsewhere, reply, err := tryIn[*orchv1.Flow](d, other, orchv1.FlowService_CreateFlow_FullMethodName, create)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status, "names are of one workspace")
	_, _, err = try[*orchv1.Flow](d, orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{Id: elsewhere.GetId()})
	code, text := status(err)
	require.Equal(t, 404, code)
	require.Equal(t, "Flow not found", text)
}

func TestRacingCreationsMakeOneFlow(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	var mu sync.Mutex
	ids, created := map[string]bool{}, 0
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			flow, reply, err := try[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName,
				&orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "race"}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ids[flow.GetId()] = true
			}
			if reply.Status == http.StatusCreated {
				created++
			}
		})
	}
	group.Wait()
	require.Len(t, ids, 1)
	require.Equal(t, 1, created)
}

func TestRunGoesToCompletion(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	run := d.run(flow, func(c *orchv1.FlowRunCreate) {
		c.State = &orchv1.StateCreate{Type: scheduled}
		c.Tags = []string{"b", "a", "b"}
		c.Parameters = []byte(`{"x": 1.0, "n": 12345678901234567890}`)
	})
	require.Equal(t, scheduled, run.GetStateType())
	for _, kind := range []orchv1.StateType{pending, running, completed} {
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.setState(run, kind).GetStatus())
	}
	read := call[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()})
	require.Equal(t, completed, read.GetState().GetType())
	require.Equal(t, read.GetStateId(), read.GetState().GetId())
	require.Equal(t, int64(1), read.GetRunCount())
	require.NotNil(t, read.EndTime)
	require.JSONEq(t, `{"x": 1.0, "n": 12345678901234567890}`, string(read.GetParameters()))

	states := call[*orchv1.StateList](d, orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName, &orchv1.ReadFlowRunStatesRequest{FlowRunId: run.GetId()})
	require.Len(t, states.GetStates(), 4, "the history can be read before the relay ran, and after")
	for _, s := range states.GetStates() {
		one := call[*orchv1.State](d, orchv1.FlowRunStateService_ReadFlowRunState_FullMethodName, &orchv1.ReadFlowRunStateRequest{Id: s.GetId()})
		require.Equal(t, s.GetType(), one.GetType())
	}

	flows := call[*orchv1.FlowList](d, orchv1.FlowService_ReadFlows_FullMethodName, &orchv1.ReadFlowsRequest{Query: &orchv1.FlowQuery{
		FlowRuns: &orchv1.FlowRunFilter{State: &orchv1.FlowRunFilterState{
			Type: &orchv1.StateTypeFilter{Any_: &orchv1.StateTypeList{Values: []orchv1.StateType{completed}}},
		}},
	}})
	require.Len(t, flows.GetFlows(), 1)
	require.Equal(t, flow.GetId(), flows.GetFlows()[0].GetId())
}

func TestEveryTransitionIsOneEvent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"))
	result := d.setState(run, running)
	d.setState(run, completed)
	names := func() map[string]int {
		seen := map[string]int{}
		for _, e := range d.events(&orchv1.EventFilter{Resource: &orchv1.EventResourceFilter{
			Id: &orchv1.StringList{Values: []string{"orch.flow-run." + run.GetId()}},
		}}).GetEvents() {
			seen[e.GetEvent()]++
		}
		return seen
	}
	want := map[string]int{"orch.flow-run.Pending": 1, "orch.flow-run.Running": 1, "orch.flow-run.Completed": 1}
	eventually(t, func() bool { return fmt.Sprint(names()) == fmt.Sprint(want) }, "three events")

	page := d.events(&orchv1.EventFilter{Id: &orchv1.EventIdFilter{Id: &orchv1.UuidList{Values: []string{result.GetState().GetId()}}}})
	require.Len(t, page.GetEvents(), 1, "an event has its state's id")
	event := page.GetEvents()[0]
	require.Equal(t, "RUNNING", event.GetResource().GetLabels()["orch.state-type"])
	require.Equal(t, run.GetStateId(), event.GetFollows())
	require.JSONEq(t, `{"intended": {"from": "PENDING", "to": "RUNNING"},
		"initial_state": {"type": "PENDING", "name": "Pending"},
		"validated_state": {"type": "RUNNING", "name": "Running"}}`, string(event.GetPayload()))
	require.Equal(t, "etl", event.GetRelated()[0].GetLabels()["orch.resource.name"])
}

// Whoever watches events of runs finds them by the names and the tags of what the run belongs to, and by who made it.
func TestEventsOfARunHaveItsRelatedResources(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := call[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName,
		&orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl", Tags: []string{"of-flow", "common"}}})
	deployment := d.deployment(flow, func(c *orchv1.DeploymentCreate) { c.Tags = []string{"of-deployment", "common"} })
	automation := uuid.New()
	ctx := request.Outgoing(t.Context(), request.Info{
		Account: request.DefaultAccount, Workspace: request.DefaultWorkspace, Automation: request.Automation{ID: automation, Name: "nightly"},
	})
	made, _, err := d.Call(ctx, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunFromDeploymentRequest{Id: deployment.GetId(), FlowRun: &orchv1.DeploymentFlowRunCreate{Tags: []string{"of-run"}}})
	require.NoError(t, err)
	run := made.(*orchv1.FlowRun)
	message := strings.Repeat("m", 1000)
	state := call[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: pending, Message: &message}},
	}).GetState()
	for _, id := range []string{run.GetStateId(), state.GetId()} {
		filter := &orchv1.EventFilter{Id: &orchv1.EventIdFilter{Id: &orchv1.UuidList{Values: []string{id}}}}
		eventually(t, func() bool { return len(d.events(filter).GetEvents()) == 1 }, "the event")
		event := d.events(filter).GetEvents()[0]
		var related []string
		for _, r := range event.GetRelated() {
			labels := r.GetLabels()
			related = append(related, labels["orch.resource.role"]+" "+labels["orch.resource.id"]+" "+labels["orch.resource.name"])
		}
		require.Equal(t, []string{
			"flow orch.flow." + flow.GetId() + " etl",
			"deployment orch.deployment." + deployment.GetId() + " nightly",
			"tag orch.tag.common ", "tag orch.tag.of-deployment ", "tag orch.tag.of-flow ", "tag orch.tag.of-run ",
			"creator orch.automation." + automation.String() + " nightly",
		}, related)
		if id == state.GetId() {
			require.Contains(t, string(event.GetPayload()), message)
			require.Equal(t, message, event.GetResource().GetLabels()["orch.state-message"])
		}
	}
}

func (d *domain) events(filter *orchv1.EventFilter) *orchv1.EventPage {
	d.t.Helper()
	return call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName,
		&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: 50}})
}

func TestOneWinnerPerRevision(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("race"))
	var group sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	for i := range 16 {
		group.Go(func() {
			kind := running
			if i%2 == 0 {
				kind = completed
			}
			result, _, err := try[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
				Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}, Force: true},
			})
			if err == nil && result.GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
				mu.Lock()
				defer mu.Unlock()
				accepted[result.GetState().GetId()] = true
			}
		})
	}
	group.Wait()
	states := call[*orchv1.StateList](d, orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName, &orchv1.ReadFlowRunStatesRequest{FlowRunId: run.GetId()})
	require.Len(t, states.GetStates(), len(accepted)+1, "each accepted state is in the history, and nothing else")
	for i, s := range states.GetStates() {
		if i > 0 {
			require.True(t, accepted[s.GetId()])
			require.True(t, s.GetTimestamp().AsTime().After(states.GetStates()[i-1].GetTimestamp().AsTime()))
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	var ids sync.Map
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			run, _, err := try[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{
				FlowRun: &orchv1.FlowRunCreate{FlowId: flow.GetId(), IdempotencyKey: new("once")},
			})
			if err == nil {
				ids.Store(run.GetId(), true)
			}
		})
	}
	group.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n)
}

func TestUnknownAnswers(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	for _, c := range []struct {
		name string
		err  error
		code int
		text string
	}{
		{"read", second(try[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: id})), 404, "Flow run not found"},
		{"set_state", second(try[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
			Id: id, Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: running}},
		})), 404, "Flow run with id " + id + " not found"},
		{"state", second(try[*orchv1.State](d, orchv1.FlowRunStateService_ReadFlowRunState_FullMethodName, &orchv1.ReadFlowRunStateRequest{Id: id})), 404, "Flow run state not found"},
		{"webhook", second(try[*orchv1.Webhook](d, orchv1.WebhookService_RotateWebhook_FullMethodName, &orchv1.RotateWebhookRequest{Id: id})), 404, "Webhook not found"},
		{"delete", second(try[*emptypb.Empty](d, orchv1.FlowService_DeleteFlow_FullMethodName, &orchv1.DeleteFlowRequest{Id: id})), 404, "Flow not found"},
		{"limit", second(try[*orchv1.FlowList](d, orchv1.FlowService_ReadFlows_FullMethodName, &orchv1.ReadFlowsRequest{
			Query: &orchv1.FlowQuery{Limit: &orchv1.PageLimit{Value: 201}},
		})), 422, "Invalid limit: must be less than or equal to 200."},
		{"token", second(try[*orchv1.EventPage](d, orchv1.EventService_ReadEventsPage_FullMethodName, &orchv1.ReadEventsPageRequest{PageToken: "nonsense"})), 403, "Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text := status(c.err)
			require.Equal(t, c.code, code)
			require.Equal(t, c.text, text)
		})
	}
	_, _, err := d.Call(t.Context(), orchv1.FlowService_ReadFlows_FullMethodName, &orchv1.ReadFlowsRequest{})
	code, _ := status(err)
	require.Equal(t, 401, code, "a call without the gateway's words is refused")
	_, _, err = try[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{FlowRun: &orchv1.FlowRunCreate{FlowId: id}})
	code, _ = status(err)
	require.Equal(t, 409, code, "a run of a flow that does not exist")
}

func second[A, B any](_ A, _ B, err error) error { return err }

func TestDeletedIsGone(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	run := d.run(flow)
	d.setState(run, running)
	deployment := d.deployment(flow)
	call[*emptypb.Empty](d, orchv1.FlowService_DeleteFlow_FullMethodName, &orchv1.DeleteFlowRequest{Id: flow.GetId()})
	_, _, err := try[*orchv1.Flow](d, orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{Id: flow.GetId()})
	code, _ := status(err)
	require.Equal(t, 404, code)
	again := d.flow("etl")
	require.NotEqual(t, flow.GetId(), again.GetId(), "the name is free at once")
	_, _, err = try[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()})
	code, _ = status(err)
	require.Equal(t, 404, code, "the runs of the flow go with it")
	_, _, err = try[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeployment_FullMethodName, &orchv1.ReadDeploymentRequest{Id: deployment.GetId()})
	code, _ = status(err)
	require.Equal(t, 404, code, "as do its deployments")
	eventually(t, func() bool {
		return len(call[*orchv1.StateList](d, orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName,
			&orchv1.ReadFlowRunStatesRequest{FlowRunId: run.GetId()}).GetStates()) == 0
	}, "and their history")
	eventually(t, func() bool {
		return len(d.events(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{"orch.flow.deleted"}}}}).GetEvents()) == 1
	}, "and the world knows")
}

func TestRunsAreUpdatedAsFarAsTheyMay(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	run, planned := d.run(flow), d.run(flow, func(c *orchv1.FlowRunCreate) { c.State = &orchv1.StateCreate{Type: scheduled} })
	update := func(id string, u *orchv1.FlowRunUpdate) (int, string) {
		_, _, err := try[*emptypb.Empty](d, orchv1.FlowRunService_UpdateFlowRun_FullMethodName,
			&orchv1.UpdateFlowRunRequest{Id: id, FlowRun: u, UpdateMask: sentFields(u)})
		if err == nil {
			return 204, ""
		}
		return status(err)
	}
	code, _ := update(run.GetId(), &orchv1.FlowRunUpdate{Name: new("")})
	require.Equal(t, 204, code)
	require.NotEmpty(t, d.readRun(run.GetId()).GetName(), "a run always has a name")
	code, _ = update(run.GetId(), &orchv1.FlowRunUpdate{EmpiricalPolicy: &orchv1.FlowRunPolicy{Retries: new(int64(2))}})
	require.Equal(t, 204, code)
	require.NotNil(t, d.readRun(run.GetId()).GetEmpiricalPolicy().PauseKeys, "a set, if an empty one")

	variables := &orchv1.FlowRunUpdate{JobVariables: []byte(`{"a": 1}`)}
	code, text := update(run.GetId(), variables)
	require.Equal(t, 400, code)
	require.Equal(t, "Job variables for a flow run in state PENDING cannot be updated", text, "the job has begun")
	code, text = update(planned.GetId(), variables)
	require.Equal(t, 400, code)
	require.Equal(t, "A deployment for the flow run could not be found", text)
	ofDeployment := call[*orchv1.FlowRun](d, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunFromDeploymentRequest{Id: d.deployment(flow).GetId(), FlowRun: &orchv1.DeploymentFlowRunCreate{}})
	code, _ = update(ofDeployment.GetId(), variables)
	require.Equal(t, 204, code)
	require.JSONEq(t, `{"a": 1}`, string(d.readRun(ofDeployment.GetId()).GetJobVariables()))
}

func TestUpdatesUnderAMask(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"), func(c *orchv1.FlowRunCreate) { c.Tags = []string{"keep"} })
	call[*emptypb.Empty](d, orchv1.FlowRunService_UpdateFlowRun_FullMethodName, &orchv1.UpdateFlowRunRequest{
		Id:         run.GetId(),
		FlowRun:    &orchv1.FlowRunUpdate{Name: new("renamed"), InfrastructurePid: new("pid")},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "infrastructure_pid"}},
	})
	read := call[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()})
	require.Equal(t, "renamed", read.GetName())
	require.Equal(t, "pid", read.GetInfrastructurePid())
	require.Equal(t, []string{"keep"}, read.GetTags())
	require.True(t, read.GetUpdated().AsTime().After(run.GetUpdated().AsTime()))
}

func TestWithoutAKeyForSecretsNothingStarts(t *testing.T) {
	t.Parallel()
	_, err := orchestration.New(t.Context(), orchestration.Config{MongoDBDatabase: "orch"}, orchestration.Deps{})
	require.ErrorIs(t, err, secrets.ErrNoKey)
}
