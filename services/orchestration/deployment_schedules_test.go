package orchestration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestDeploymentIsUpdated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"), withSchema(`{"x":1}`), func(c *orchv1.DeploymentCreate) {
		c.Description, c.Path = new("text"), new("here")
	})
	require.NoError(t, d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{Paused: true, Version: new("v2")}, "description", "work_pool_name"))
	got := d.readDeployment(deployment.GetId())
	require.True(t, got.GetPaused())
	require.Equal(t, "v2", got.GetVersion())
	require.Nil(t, got.Description)
	require.Equal(t, "here", got.GetPath())

	code, text := status(d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{Parameters: []byte(`{"x":"a"}`)}))
	require.Equal(t, http.StatusConflict, code)
	require.Equal(t, "Error updating deployment: Validation failed for field 'x'. Failure reason: 'a' is not of type 'integer'", text)
	code, _ = status(d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{WorkPoolName: new("p")}))
	require.Equal(t, http.StatusNotFound, code)
	code, text = status(d.tryUpdateDeployment(uuid.NewString(), &orchv1.DeploymentUpdate{WorkPoolName: new("p")}))
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Deployment not found", text)
	require.True(t, proto.Equal(got, d.readDeployment(deployment.GetId())), "what is refused changes nothing")
}

func TestDeploymentIsReplaced(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	id := uuid.NewString()
	put := func(create *orchv1.DeploymentCreate) (*orchv1.Deployment, int) {
		got, reply, err := try[*orchv1.Deployment](d, orchv1.DeploymentService_ReplaceDeployment_FullMethodName,
			&orchv1.ReplaceDeploymentRequest{Id: id, Deployment: create})
		if err != nil {
			code, _ := status(err)
			return nil, code
		}
		return got, reply.Status
	}
	first, code := put(&orchv1.DeploymentCreate{Name: "a", FlowId: flow.GetId(), Description: new("text"), Tags: []string{"x"}})
	require.Equal(t, http.StatusCreated, code)
	require.Equal(t, id, first.GetId())
	second, code := put(&orchv1.DeploymentCreate{Name: "b", FlowId: flow.GetId()})
	require.Zero(t, code, "as documented: 200")
	require.Equal(t, "b", second.GetName())
	require.Nil(t, second.Description)
	require.Empty(t, second.GetTags())
	require.True(t, proto.Equal(first.GetCreated(), second.GetCreated()))
	d.deployment(flow, func(c *orchv1.DeploymentCreate) { c.Name = "taken" })
	_, code = put(&orchv1.DeploymentCreate{Name: "taken", FlowId: flow.GetId()})
	require.Equal(t, http.StatusConflict, code)
}

func TestSchedulesAreChangedOneByOne(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"))
	schedules := func() []*orchv1.DeploymentSchedule {
		return call[*orchv1.DeploymentScheduleList](d, orchv1.DeploymentService_ReadDeploymentSchedules_FullMethodName,
			&orchv1.ReadDeploymentSchedulesRequest{Id: deployment.GetId()}).GetSchedules()
	}
	added := call[*orchv1.DeploymentScheduleList](d, orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName,
		&orchv1.CreateDeploymentSchedulesRequest{Id: deployment.GetId(), Schedules: []*orchv1.DeploymentScheduleCreate{
			{Schedule: cron("0 5 * * *"), Active: true},
			{Schedule: &orchv1.Schedule{Kind: &orchv1.Schedule_Rrule{Rrule: &orchv1.RRuleSchedule{Rrule: "FREQ=DAILY", Timezone: new("UTC")}}}, Slug: new("r")},
		}})
	require.Len(t, added.GetSchedules(), 2)
	require.Equal(t, "DTSTART:20200101T000000\nFREQ=DAILY", schedules()[0].GetSchedule().GetRrule().GetRrule())

	update := &orchv1.DeploymentScheduleUpdate{Active: new(false)}
	request := &orchv1.UpdateDeploymentScheduleRequest{
		Id: deployment.GetId(), ScheduleId: added.GetSchedules()[0].GetId(), Schedule: update, UpdateMask: sentFields(update),
	}
	_, _, err := try[proto.Message](d, orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, request)
	require.NoError(t, err)
	require.False(t, schedules()[0].GetActive(), "what was changed last comes first")
	require.True(t, proto.Equal(schedules()[0], d.readDeployment(deployment.GetId()).GetSchedules()[0]))
	require.Equal(t, "0 5 * * *", schedules()[0].GetSchedule().GetCron().GetCron())
	request.ScheduleId = uuid.NewString()
	_, _, err = try[proto.Message](d, orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, request)
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Schedule not found.", text)

	remove := &orchv1.DeleteDeploymentScheduleRequest{Id: deployment.GetId(), ScheduleId: added.GetSchedules()[0].GetId()}
	_, _, err = try[proto.Message](d, orchv1.DeploymentService_DeleteDeploymentSchedule_FullMethodName, remove)
	require.NoError(t, err)
	require.Len(t, schedules(), 1)
	_, _, err = try[proto.Message](d, orchv1.DeploymentService_DeleteDeploymentSchedule_FullMethodName, remove)
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code)
}

func TestSchedulesAreChangedBySlug(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"), func(c *orchv1.DeploymentCreate) {
		c.Schedules = []*orchv1.DeploymentScheduleCreate{{Schedule: every(time.Hour), Active: true}}
	})
	patch := func(given ...*orchv1.DeploymentScheduleUpdate) int {
		code, _ := status(d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{Schedules: given}))
		return code
	}
	slugs := func() map[string]*orchv1.DeploymentSchedule {
		by := map[string]*orchv1.DeploymentSchedule{}
		for _, s := range d.readDeployment(deployment.GetId()).GetSchedules() {
			by[s.GetSlug()] = s
		}
		return by
	}
	// The existing one has no slug: all are replaced.
	patch(&orchv1.DeploymentScheduleUpdate{Slug: new("a"), Schedule: cron("@daily"), Parameters: []byte(`{"x":1}`)}, &orchv1.DeploymentScheduleUpdate{Slug: new("b"), Schedule: cron("@hourly")})
	before := slugs()
	require.Len(t, before, 2)
	require.True(t, before["a"].GetActive())
	require.JSONEq(t, `{"x":1}`, string(before["a"].GetParameters()))

	patch(&orchv1.DeploymentScheduleUpdate{Slug: new("a"), Active: new(false)}, &orchv1.DeploymentScheduleUpdate{Slug: new("c"), Replaces: new("b")})
	after := slugs()
	require.Len(t, after, 2)
	require.False(t, after["a"].GetActive())
	require.Empty(t, after["a"].GetParameters(), "the update has none")
	require.Equal(t, "@daily", after["a"].GetSchedule().GetCron().GetCron())
	require.Equal(t, before["b"].GetId(), after["c"].GetId(), "replaces renames")

	require.Equal(t, http.StatusUnprocessableEntity, patch(&orchv1.DeploymentScheduleUpdate{Schedule: cron("@daily")}))
	require.Equal(t, http.StatusUnprocessableEntity, patch(&orchv1.DeploymentScheduleUpdate{Slug: new("new")}))
	twice := &orchv1.DeploymentScheduleUpdate{Slug: new("q"), Schedule: cron("@daily")}
	require.Equal(t, http.StatusConflict, patch(twice, twice))
	require.Len(t, slugs(), 2)

	rename := func(from, to string) *orchv1.DeploymentScheduleUpdate {
		return &orchv1.DeploymentScheduleUpdate{Slug: &to, Replaces: &from}
	}
	before = slugs()
	require.Equal(t, http.StatusOK, patch(rename("a", "c"), rename("c", "a")))
	require.Equal(t, before["a"].GetId(), slugs()["c"].GetId(), "two schedules exchange their slugs")
	require.Equal(t, before["c"].GetId(), slugs()["a"].GetId())
	require.Equal(t, http.StatusOK, patch(rename("a", "e"), rename("c", "a")))
	require.Equal(t, before["c"].GetId(), slugs()["e"].GetId(), "a slug is free when its schedule is renamed")
	require.Equal(t, before["a"].GetId(), slugs()["a"].GetId())
	require.Equal(t, http.StatusUnprocessableEntity, patch(rename("a", "x"), rename("a", "y")), "one schedule cannot be replaced twice")
	require.Equal(t, http.StatusUnprocessableEntity, patch(rename("a", "e"), &orchv1.DeploymentScheduleUpdate{Slug: new("e")}), "e stays")
	require.Equal(t, http.StatusUnprocessableEntity, patch(rename("none", "new")), "a new schedule needs times")
	require.Len(t, slugs(), 2)
}
