package orchestration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// sentFields is the mask of a request that sent those fields of a message that are set, and the given ones beside.
func sentFields(m proto.Message, more ...string) *fieldmaskpb.FieldMask {
	mask := &fieldmaskpb.FieldMask{Paths: more}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if m.ProtoReflect().Has(fields.Get(i)) {
			mask.Paths = append(mask.Paths, string(fields.Get(i).Name()))
		}
	}
	return mask
}

func (d *domain) tryDeployment(create *orchv1.DeploymentCreate, more ...string) (*orchv1.Deployment, rpc.Reply, error) {
	return try[*orchv1.Deployment](d, orchv1.DeploymentService_CreateDeployment_FullMethodName,
		&orchv1.CreateDeploymentRequest{Deployment: create, UpdateMask: sentFields(create, more...)})
}

func (d *domain) deployment(flow *orchv1.Flow, edits ...func(*orchv1.DeploymentCreate)) *orchv1.Deployment {
	d.t.Helper()
	create := &orchv1.DeploymentCreate{Name: "nightly", FlowId: flow.GetId()}
	for _, edit := range edits {
		edit(create)
	}
	deployment, _, err := d.tryDeployment(create)
	require.NoError(d.t, err)
	return deployment
}

func (d *domain) readDeployment(id string) *orchv1.Deployment {
	d.t.Helper()
	return call[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeployment_FullMethodName, &orchv1.ReadDeploymentRequest{Id: id})
}

func (d *domain) tryUpdateDeployment(id string, update *orchv1.DeploymentUpdate, more ...string) error {
	_, _, err := try[proto.Message](d, orchv1.DeploymentService_UpdateDeployment_FullMethodName,
		&orchv1.UpdateDeploymentRequest{Id: id, Deployment: update, UpdateMask: sentFields(update, more...)})
	return err
}

func (d *domain) tryRun(id string, create *orchv1.DeploymentFlowRunCreate) (*orchv1.FlowRun, rpc.Reply, error) {
	return try[*orchv1.FlowRun](d, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunFromDeploymentRequest{Id: id, FlowRun: create})
}

func every(d time.Duration) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Interval{Interval: &orchv1.IntervalSchedule{Interval: durationpb.New(d)}}}
}

func cron(expression string) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: expression, DayOr: true}}}
}

func TestDeploymentIsUpserted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	create := &orchv1.DeploymentCreate{
		Name: "nightly", FlowId: flow.GetId(), Description: new("first"), Tags: []string{"a"}, Parameters: []byte(`{"x":1}`),
		Schedules: []*orchv1.DeploymentScheduleCreate{{Schedule: every(time.Hour), Active: true}},
	}
	first, reply, err := d.tryDeployment(create)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status)
	require.Equal(t, orchv1.DeploymentStatus_DEPLOYMENT_STATUS_NOT_READY, first.GetStatus())
	require.True(t, first.GetEnforceParameterSchema())
	require.NotNil(t, first.GetPullSteps())
	require.Equal(t, flow.GetId(), first.GetLabels()["orch.flow.id"].GetStringValue())
	require.Len(t, first.GetSchedules(), 1)
	require.NotNil(t, first.GetSchedules()[0].GetSchedule().GetInterval().GetAnchorDate(), "an interval is counted from a moment")
	require.Equal(t, first.GetId(), first.GetSchedules()[0].GetDeploymentId())

	second, reply, err := d.tryDeployment(&orchv1.DeploymentCreate{Name: "nightly", FlowId: flow.GetId(), Tags: []string{"b"}})
	require.NoError(t, err)
	require.Zero(t, reply.Status, "as documented: 200")
	require.Equal(t, first.GetId(), second.GetId())
	require.Equal(t, "first", second.GetDescription(), "what is not sent stays")
	require.JSONEq(t, `{"x":1}`, string(second.GetParameters()))
	require.Equal(t, []string{"b"}, second.GetTags())
	require.Empty(t, second.GetSchedules(), "schedules are replaced")

	third, _, err := d.tryDeployment(&orchv1.DeploymentCreate{Name: "nightly", FlowId: flow.GetId()}, "description")
	require.NoError(t, err)
	require.Nil(t, third.Description, "null clears")
	require.Equal(t, third.GetTags(), d.readDeployment(first.GetId()).GetTags())
}

func TestDeploymentReferencesAreChecked(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	nobody := uuid.NewString()
	for name, c := range map[string]struct {
		edit   func(*orchv1.DeploymentCreate)
		status int
		text   string
	}{
		"no flow":    {func(c *orchv1.DeploymentCreate) { c.FlowId = nobody }, 409, "Data integrity conflict"},
		"no pool":    {func(c *orchv1.DeploymentCreate) { c.WorkPoolName = new("p") }, 404, `Work pool "p" not found.`},
		"no storage": {func(c *orchv1.DeploymentCreate) { c.StorageDocumentId = &nobody }, 409, "storage block"},
		"no infra":   {func(c *orchv1.DeploymentCreate) { c.InfrastructureDocumentId = &nobody }, 409, "infrastructure block"},
		"no limit":   {func(c *orchv1.DeploymentCreate) { c.GlobalConcurrencyLimitId = &nobody }, 404, "Concurrency limit not found"},
		"two limits": {func(c *orchv1.DeploymentCreate) {
			c.ConcurrencyLimit, c.GlobalConcurrencyLimitId = new(int64(1)), &nobody
		}, 422, ""},
		"bad parameter": {withSchema(`{"x":"a"}`), 422, ""},
		"bad schema":    {enforced(func(c *orchv1.DeploymentCreate) { c.ParameterOpenapiSchema = []byte(`{"type":7}`) }), 422, ""},
		"far reference": {enforced(func(c *orchv1.DeploymentCreate) { c.ParameterOpenapiSchema = []byte(`{"$ref":"file:///etc/passwd"}`) }), 422, ""},
		"twice a slug": {func(c *orchv1.DeploymentCreate) {
			s := &orchv1.DeploymentScheduleCreate{Schedule: cron("@daily"), Slug: new("s")}
			c.Schedules = []*orchv1.DeploymentScheduleCreate{s, s}
		}, 409, ""},
		"no time zone": {func(c *orchv1.DeploymentCreate) {
			s := every(time.Hour)
			s.GetInterval().Timezone = new("Nowhere/Land")
			c.Schedules = []*orchv1.DeploymentScheduleCreate{{Schedule: s}}
		}, 422, ""},
		"no interval": {func(c *orchv1.DeploymentCreate) {
			c.Schedules = []*orchv1.DeploymentScheduleCreate{{Schedule: every(0)}}
		}, 422, ""},
		"too large": {func(c *orchv1.DeploymentCreate) {
			c.Parameters = []byte(`{"x":"` + strings.Repeat("y", 512<<10) + `"}`)
		}, 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			create := &orchv1.DeploymentCreate{Name: name, FlowId: flow.GetId()}
			c.edit(create)
			_, _, err := d.tryDeployment(create)
			got, text := status(err)
			require.Equal(t, c.status, got, name)
			require.Contains(t, text, c.text, name)
		})
	}
	n := call[*orchv1.CountResponse](d, orchv1.DeploymentService_CountDeployments_FullMethodName, &orchv1.CountDeploymentsRequest{})
	require.Zero(t, n.GetCount(), "nothing is stored of what was refused")

	_, _, err := try[*orchv1.Deployment](d, orchv1.DeploymentService_CreateDeployment_FullMethodName,
		&orchv1.CreateDeploymentRequest{Deployment: &orchv1.DeploymentCreate{}})
	require.Len(t, rpc.HTTPError(err).GetFieldErrors().GetErrors(), 2, "name and flow_id are required")
}

// enforced lets a deployment ask for the check of its parameters.
func enforced(edit func(*orchv1.DeploymentCreate)) func(*orchv1.DeploymentCreate) {
	return func(c *orchv1.DeploymentCreate) {
		edit(c)
		c.EnforceParameterSchema = true
	}
}

// withSchema gives a deployment parameters and a schema that asks for an integer x.
func withSchema(parameters string) func(*orchv1.DeploymentCreate) {
	return func(c *orchv1.DeploymentCreate) {
		c.Parameters = []byte(parameters)
		c.ParameterOpenapiSchema = []byte(`{"type":"object","properties":{"x":{"type":"integer","title":"x"}},"required":["x"]}`)
		c.EnforceParameterSchema = true
	}
}

func TestDeploymentIsFound(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	etl, report := d.flow("etl"), d.flow("report")
	a := d.deployment(etl, func(c *orchv1.DeploymentCreate) { c.Name, c.Tags = "a", []string{"x"} })
	b := d.deployment(report, func(c *orchv1.DeploymentCreate) { c.Name, c.Paused = "b", true })

	byName := call[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeploymentByName_FullMethodName,
		&orchv1.ReadDeploymentByNameRequest{FlowName: "report", DeploymentName: "b"})
	require.Equal(t, b.GetId(), byName.GetId())
	for _, names := range [][2]string{{"etl", "b"}, {"none", "b"}} {
		_, _, err := try[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeploymentByName_FullMethodName,
			&orchv1.ReadDeploymentByNameRequest{FlowName: names[0], DeploymentName: names[1]})
		got, text := status(err)
		require.Equal(t, http.StatusNotFound, got)
		require.Equal(t, "Deployment not found", text)
	}
	find := func(q *orchv1.DeploymentQuery) []string {
		list := call[*orchv1.DeploymentList](d, orchv1.DeploymentService_ReadDeployments_FullMethodName, &orchv1.ReadDeploymentsRequest{Query: q})
		var ids []string
		for _, one := range list.GetDeployments() {
			ids = append(ids, one.GetId())
		}
		return ids
	}
	require.Equal(t, []string{a.GetId(), b.GetId()}, find(nil))
	require.Equal(t, []string{b.GetId(), a.GetId()}, find(&orchv1.DeploymentQuery{Sort: orchv1.DeploymentSort_DEPLOYMENT_SORT_CREATED_DESC}))
	require.Equal(t, []string{b.GetId()}, find(&orchv1.DeploymentQuery{Deployments: &orchv1.DeploymentFilter{Paused: &orchv1.BoolFilter{Eq_: new(true)}}}))
	require.Equal(t, []string{a.GetId()}, find(&orchv1.DeploymentQuery{Deployments: &orchv1.DeploymentFilter{Paused: &orchv1.BoolFilter{Eq_: new(false)}}}))
	require.Equal(t, []string{b.GetId()}, find(&orchv1.DeploymentQuery{
		Deployments: &orchv1.DeploymentFilter{FlowOrDeploymentName: &orchv1.LikeFilter{Like_: new("REP")}},
	}))
	require.Equal(t, []string{a.GetId()}, find(&orchv1.DeploymentQuery{
		Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{"etl"}}}},
	}))
	require.Empty(t, find(&orchv1.DeploymentQuery{Deployments: &orchv1.DeploymentFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{}}}}))

	page := call[*orchv1.DeploymentPage](d, orchv1.DeploymentService_PaginateDeployments_FullMethodName, &orchv1.PaginateDeploymentsRequest{
		Query: &orchv1.DeploymentPageQuery{Page: 2, Limit: &orchv1.PageLimit{Value: 1}},
	})
	require.Equal(t, []int64{2, 1, 2, 2}, []int64{page.GetCount(), page.GetLimit(), page.GetPages(), page.GetPage()})
	require.Equal(t, b.GetId(), page.GetResults()[0].GetId())
	listed := call[*orchv1.DeploymentList](d, orchv1.DeploymentService_ListDeployments_FullMethodName, &orchv1.ListDeploymentsRequest{Offset: 1})
	require.Len(t, listed.GetDeployments(), 1)
}

func TestRunsAreMadeOfDeployments(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	deployment := d.deployment(flow, withSchema(`{"x":1,"y":[1.50]}`), func(c *orchv1.DeploymentCreate) {
		c.Tags, c.Version, c.Labels = []string{"a"}, new("v1"), &orchv1.Labels{Values: map[string]*orchv1.Scalar{
			"team": {Kind: &orchv1.Scalar_StringValue{StringValue: "blue"}},
		}}
	})
	run, reply, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{
		Parameters: []byte(`{"x":{"__prefect_kind":"json","value":"7"}}`), Tags: []string{"b", "a"}, IdempotencyKey: new("k"),
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status)
	require.Equal(t, `{"x":7,"y":[1.50]}`, string(run.GetParameters()))
	require.Equal(t, []string{"b", "a"}, run.GetTags())
	require.Equal(t, orchv1.StateType_STATE_TYPE_SCHEDULED, run.GetState().GetType())
	require.NotNil(t, run.NextScheduledStartTime)
	require.Equal(t, deployment.GetId(), run.GetDeploymentId())
	require.Equal(t, "v1", run.GetDeploymentVersion())
	require.Equal(t, "blue", run.GetLabels()["team"].GetStringValue())
	require.Equal(t, deployment.GetId(), run.GetLabels()["orch.deployment.id"].GetStringValue())
	require.Nil(t, run.CreatedBy)

	again, reply, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{IdempotencyKey: new("k")})
	require.NoError(t, err)
	require.Zero(t, reply.Status, "as documented: 200")
	require.Equal(t, run.GetId(), again.GetId())

	for name, c := range map[string]struct {
		create *orchv1.DeploymentFlowRunCreate
		status int
		text   string
	}{
		"no integer": {
			&orchv1.DeploymentFlowRunCreate{Parameters: []byte(`{"x":"a"}`)}, 409,
			"Error creating flow run: Validation failed for field 'x'. Failure reason: 'a' is not of type 'integer'",
		},
		"no variable": {
			&orchv1.DeploymentFlowRunCreate{Parameters: []byte(`{"x":{"__orch_kind":"workspace_variable","variable_name":"n"}}`)}, 400,
			"Error hydrating flow run parameters: Variable 'n' not found in workspace.",
		},
		"queue without pool": {&orchv1.DeploymentFlowRunCreate{WorkQueueName: new("q")}, 400, "has no work pool"},
		"too large":          {&orchv1.DeploymentFlowRunCreate{Parameters: []byte(`{"z":"` + strings.Repeat("y", 512<<10) + `"}`)}, 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := d.tryRun(deployment.GetId(), c.create)
			got, text := status(err)
			require.Equal(t, c.status, got, name)
			require.Contains(t, text, c.text, name)
		})
	}
	_, _, err = d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{Parameters: []byte(`{"x":"a"}`), EnforceParameterSchema: new(false)})
	require.NoError(t, err, "a run may leave the schema aside")
	_, _, err = d.tryRun(uuid.NewString(), &orchv1.DeploymentFlowRunCreate{})
	got, _ := status(err)
	require.Equal(t, http.StatusNotFound, got)

	bulk := call[*orchv1.FlowRunBulkCreateResponse](d, orchv1.DeploymentService_CreateFlowRunsFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunsFromDeploymentRequest{Id: deployment.GetId(), FlowRuns: []*orchv1.DeploymentFlowRunCreate{
			{}, {Parameters: []byte(`{"x":"a"}`)}, {IdempotencyKey: new("k")},
		}})
	require.Equal(t, orchv1.FlowRunCreateStatus_FLOW_RUN_CREATE_STATUS_CREATED, bulk.GetResults()[0].GetStatus())
	require.Equal(t, orchv1.FlowRunCreateStatus_FLOW_RUN_CREATE_STATUS_FAILED, bulk.GetResults()[1].GetStatus())
	require.Contains(t, bulk.GetResults()[1].GetError(), "Validation failed")
	require.Equal(t, run.GetId(), bulk.GetResults()[2].GetFlowRunId())
	_, _, err = try[*orchv1.FlowRunBulkCreateResponse](d, orchv1.DeploymentService_CreateFlowRunsFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunsFromDeploymentRequest{Id: deployment.GetId(), FlowRuns: make([]*orchv1.DeploymentFlowRunCreate, 101)})
	got, _ = status(err)
	require.Equal(t, http.StatusBadRequest, got)
}

func TestParametersAreCheckedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	for name, edit := range map[string]func(*orchv1.DeploymentCreate){
		"wrong parameters": func(c *orchv1.DeploymentCreate) {
			withSchema(`{"x":"a"}`)(c)
			c.EnforceParameterSchema = false // Not sent.
		},
		"no schema": func(c *orchv1.DeploymentCreate) { c.ParameterOpenapiSchema = []byte(`{"type":"blork"}`) },
		"a part": enforced(func(c *orchv1.DeploymentCreate) {
			c.Parameters = []byte(`{"who":{"greeting":"hello"}}`)
			c.ParameterOpenapiSchema = []byte(`{"type":"object","properties":{"who":{"type":"object","required":["name"]}}}`)
		}),
	} {
		create := &orchv1.DeploymentCreate{Name: name, FlowId: flow.GetId()}
		edit(create)
		deployment, _, err := d.tryDeployment(create)
		require.NoError(t, err, name)
		require.True(t, deployment.GetEnforceParameterSchema(), "runs are checked")
		_, _, err = d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{})
		code, _ := status(err)
		require.Equal(t, http.StatusConflict, code, name)
		code, _ = status(d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{Parameters: create.GetParameters()}, "parameters"))
		require.Equal(t, map[string]int{"wrong parameters": 409, "no schema": 422, "a part": 200}[name], code, name)
	}
	require.Equal(t, "{}", string(d.deployment(flow).GetParameterOpenapiSchema()), "what nobody sent")
}

func TestUpdatedParametersAreHydrated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"), withSchema(`{"x":1}`))
	update := func(parameters string) (int, string) {
		return status(d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{Parameters: []byte(parameters)}))
	}
	code, _ := update(`{"x":{"__prefect_kind":"json","value":"7"}}`)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, `{"x":7}`, string(d.readDeployment(deployment.GetId()).GetParameters()))
	code, text := update(`{"x":{"__orch_kind":"json","value":"\"a\""}}`)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, text, "Failure reason: 'a' is not of type 'integer'")
	code, text = update(`{"x":{"__orch_kind":"json","value":"{"}}`)
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, text, "Error hydrating deployment parameters: Invalid JSON")
	require.Equal(t, `{"x":7}`, string(d.readDeployment(deployment.GetId()).GetParameters()))
}

func TestScheduledRunsArePolled(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	deployment, other := d.deployment(flow), d.deployment(flow, func(c *orchv1.DeploymentCreate) { c.Name = "other" })
	at := func(offset time.Duration) *orchv1.FlowRun {
		run, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{State: &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_SCHEDULED, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(time.Now().Add(offset))},
		}})
		require.NoError(t, err)
		return run
	}
	later, sooner, far := at(2*time.Second), at(time.Second), at(time.Hour)
	_, _, err := d.tryRun(other.GetId(), &orchv1.DeploymentFlowRunCreate{})
	require.NoError(t, err)
	poll := func(q *orchv1.ScheduledFlowRunsOfDeployments) []string {
		q.DeploymentIds = append(q.DeploymentIds, deployment.GetId(), uuid.NewString())
		list := call[*orchv1.FlowRunList](d, orchv1.DeploymentService_GetScheduledFlowRunsForDeployments_FullMethodName,
			&orchv1.GetScheduledFlowRunsForDeploymentsRequest{Query: q})
		var ids []string
		for _, run := range list.GetFlowRuns() {
			ids = append(ids, run.GetId())
		}
		return ids
	}
	require.Equal(t, []string{sooner.GetId(), later.GetId(), far.GetId()}, poll(&orchv1.ScheduledFlowRunsOfDeployments{}))
	require.Equal(t, []string{sooner.GetId(), later.GetId()}, poll(&orchv1.ScheduledFlowRunsOfDeployments{ScheduledBefore: timestamppb.New(time.Now().Add(time.Minute))}))
	require.Equal(t, []string{sooner.GetId()}, poll(&orchv1.ScheduledFlowRunsOfDeployments{Limit: &orchv1.PageLimit{Value: 1}}))

	polled := d.readDeployment(deployment.GetId())
	require.Equal(t, orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY, polled.GetStatus())
	require.NotNil(t, polled.LastPolled)
	require.True(t, proto.Equal(deployment.GetUpdated(), polled.GetUpdated()), "being polled is no change")
	require.Equal(t, orchv1.DeploymentStatus_DEPLOYMENT_STATUS_NOT_READY, d.readDeployment(other.GetId()).GetStatus())
}

func TestDeploymentIsDeletedWithItsScheduledRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	deployment := d.deployment(flow)
	waits, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{})
	require.NoError(t, err)
	ran, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{})
	require.NoError(t, err)
	d.setState(ran, orchv1.StateType_STATE_TYPE_RUNNING)

	pause := func(method string) {
		_, _, err := try[proto.Message](d, method, &orchv1.PauseDeploymentRequest{Id: deployment.GetId()})
		require.NoError(t, err)
	}
	pause(orchv1.DeploymentService_PauseDeployment_FullMethodName)
	require.True(t, d.readDeployment(deployment.GetId()).GetPaused())
	exists := func(run *orchv1.FlowRun) bool {
		_, _, err := try[*orchv1.FlowRun](d, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()})
		return err == nil
	}
	require.True(t, exists(waits), "pausing deletes what schedules made, not what was asked for")

	bulk := call[*orchv1.DeploymentBulkDeleteResponse](d, orchv1.DeploymentService_BulkDeleteDeployments_FullMethodName,
		&orchv1.BulkDeleteDeploymentsRequest{Query: &orchv1.DeploymentBulkDeleteQuery{
			Deployments: &orchv1.DeploymentFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{deployment.GetId()}}}},
		}})
	require.Equal(t, []string{deployment.GetId()}, bulk.GetDeleted())
	require.False(t, exists(waits))
	require.True(t, exists(ran))
	_, _, err = try[proto.Message](d, orchv1.DeploymentService_DeleteDeployment_FullMethodName, &orchv1.DeleteDeploymentRequest{Id: deployment.GetId()})
	got, _ := status(err)
	require.Equal(t, http.StatusNotFound, got)

	orphan := d.deployment(flow)
	_, _, err = try[proto.Message](d, orchv1.FlowService_DeleteFlow_FullMethodName, &orchv1.DeleteFlowRequest{Id: flow.GetId()})
	require.NoError(t, err)
	eventually(t, func() bool {
		_, _, err := try[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeployment_FullMethodName, &orchv1.ReadDeploymentRequest{Id: orphan.GetId()})
		got, _ := status(err)
		return got == http.StatusNotFound
	}, "the deployments of a deleted flow go")
}
