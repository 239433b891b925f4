package orchestration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

func withScheduler(c *orchestration.Config) { c.Timers.Scheduler = 5 * time.Millisecond }

// autoScheduled are the runs of a deployment that its schedules made, the next one first.
func (d *domain) autoScheduled(deployment *orchv1.Deployment) []*orchv1.FlowRun {
	d.t.Helper()
	return call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{
		FlowRuns: &orchv1.FlowRunFilter{DeploymentId: &orchv1.OptionalUuidFilter{Any_: &orchv1.UuidList{Values: []string{deployment.GetId()}}}},
		Limit:    &orchv1.PageLimit{Value: 200}, Sort: orchv1.FlowRunSort_FLOW_RUN_SORT_NEXT_SCHEDULED_START_TIME_ASC,
	}}).GetFlowRuns()
}

func TestSchedulesMakeRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t, withScheduler)
	deployment := d.deployment(d.flow("etl"), func(c *orchv1.DeploymentCreate) {
		c.Parameters = []byte(`{"a":1}`)
		c.EnforceParameterSchema = false
		c.Schedules = []*orchv1.DeploymentScheduleCreate{{Schedule: cron("0 0 1 1 *"), Active: true, Slug: new("yearly"), Parameters: []byte(`{"b":2}`)}}
	})
	hasRuns := func(n int) func() bool { return func() bool { return len(d.autoScheduled(deployment)) == n } }
	// The next new year is at most a hundred days ahead, or there is no run; a schedule of hours has some at any time.
	hourly := call[*orchv1.DeploymentScheduleList](d, orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName,
		&orchv1.CreateDeploymentSchedulesRequest{Id: deployment.GetId(), Schedules: []*orchv1.DeploymentScheduleCreate{
			{Schedule: cron("0 * * * *"), Active: true, Slug: new("hourly"), Parameters: []byte(`{"b":3}`)},
		}}).GetSchedules()[0]
	eventually(t, func() bool { return len(d.autoScheduled(deployment)) >= 3 }, "runs of the new schedule")
	run := d.autoScheduled(deployment)[0]
	require.JSONEq(t, `{"a":1,"b":3}`, string(run.GetParameters()))
	require.Equal(t, "hourly", run.GetCreatedBy().GetDisplayValue())

	// Pausing deletes them, resuming makes them again.
	call[*emptypb.Empty](d, orchv1.DeploymentService_PauseDeployment_FullMethodName, &orchv1.PauseDeploymentRequest{Id: deployment.GetId()})
	require.Empty(t, d.autoScheduled(deployment))
	call[*emptypb.Empty](d, orchv1.DeploymentService_ResumeDeployment_FullMethodName, &orchv1.ResumeDeploymentRequest{Id: deployment.GetId()})
	eventually(t, func() bool { return len(d.autoScheduled(deployment)) >= 3 }, "runs after the pause")

	// An edit takes the place of what was scheduled.
	inactive := false
	call[*emptypb.Empty](d, orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, updateSchedule(deployment, hourly, &inactive))
	eventually(t, func() bool { return len(d.autoScheduled(deployment)) <= 1 }, "no runs of an inactive schedule")

	call[*emptypb.Empty](d, orchv1.DeploymentService_DeleteDeployment_FullMethodName, &orchv1.DeleteDeploymentRequest{Id: deployment.GetId()})
	eventually(t, hasRuns(0), "no runs of a deleted deployment")
}

func updateSchedule(deployment *orchv1.Deployment, s *orchv1.DeploymentSchedule, active *bool) *orchv1.UpdateDeploymentScheduleRequest {
	update := &orchv1.DeploymentScheduleUpdate{Active: active}
	return &orchv1.UpdateDeploymentScheduleRequest{
		Id: deployment.GetId(), ScheduleId: s.GetId(), Schedule: update, UpdateMask: sentFields(update),
	}
}

func TestScheduledRunsInAWindow(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"), func(c *orchv1.DeploymentCreate) {
		c.Schedules = []*orchv1.DeploymentScheduleCreate{{Schedule: cron("0 0 * * *"), Active: true}}
	})
	start := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	call[*emptypb.Empty](d, orchv1.DeploymentService_ScheduleDeployment_FullMethodName, &orchv1.ScheduleDeploymentRequest{
		Id: deployment.GetId(), Window: &orchv1.DeploymentScheduleWindow{
			StartTime: timestamppb.New(start), EndTime: timestamppb.New(start.AddDate(0, 0, 10)), MinRuns: 5, MinTime: 60,
		},
	})
	require.Len(t, d.autoScheduled(deployment), 5)
	call[*emptypb.Empty](d, orchv1.DeploymentService_ScheduleDeployment_FullMethodName, &orchv1.ScheduleDeploymentRequest{Id: uuid.NewString()})
}

func TestSchedulePreview(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	start := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	zone := "Europe/Berlin"
	preview := func(s *orchv1.Schedule) (*orchv1.SchedulePreview, error) {
		got, _, err := try[*orchv1.SchedulePreview](d, orchv1.UiScheduleService_PreviewSchedule_FullMethodName,
			&orchv1.PreviewScheduleRequest{Query: &orchv1.SchedulePreviewQuery{Schedule: s, Start: timestamppb.New(start), N: 2}})
		return got, err
	}
	got, err := preview(&orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: "0 9 * * *", Timezone: &zone, DayOr: true}}})
	require.NoError(t, err)
	require.Equal(t, zone, got.GetTimezone())
	require.Equal(t, time.Date(2026, 3, 29, 7, 0, 0, 0, time.UTC), got.GetTimes()[0].AsTime())
	require.Len(t, got.GetTimes(), 2)
	got, err = preview(cron("0 0 31 2 *"))
	require.NoError(t, err)
	require.Empty(t, got.GetTimes())
	_, err = preview(cron("60 * * * *"))
	code, _ := status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
}
