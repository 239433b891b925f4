package pages

import (
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// schedulePanel lists the schedules with their next times.
func schedulePanel(r *page.Request, d *orchv1.Deployment) panel {
	t := &table{Columns: []string{"Schedule", "Active", "Next times", ""}, Empty: "No schedule: runs start by hand, by automations or by the API."}
	previews := make([]*apicall.Unary[*orchv1.SchedulePreview], len(d.GetSchedules()))
	var calls []apicall.Call
	for i, s := range d.GetSchedules() {
		if raw, err := restjson.Marshal(s.GetSchedule()); err == nil && s.GetActive() && !d.GetPaused() {
			previews[i] = apicall.New[*orchv1.SchedulePreview](orchv1.UiScheduleService_PreviewSchedule_FullMethodName, apicall.Input{Body: apicall.JSON{"schedule": rawJSON(raw), "n": 3}})
			calls = append(calls, previews[i])
		}
	}
	_ = r.Call(calls...) // Without them the column is empty.
	for i, s := range d.GetSchedules() {
		next := cell{}
		if previews[i] != nil {
			next.Text = nextTimes(r, previews[i].Result())
		}
		t.add(text(scheduleText(s.GetSchedule())), yes(s.GetActive(), "active", "inactive"), next, scheduleSwitch(r, s))
	}
	return panel{Title: "Schedules", Table: t}
}

// scheduleSwitch is the button that activates or deactivates a schedule.
func scheduleSwitch(r *page.Request, s *orchv1.DeploymentSchedule) cell {
	if !r.May(orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName) {
		return cell{}
	}
	title, active := "Activate", "yes"
	if s.GetActive() {
		title, active = "Deactivate", "no"
	}
	return cell{Buttons: []button{{Action: "switch-schedule", Title: title, Fields: []hiddenField{{"schedule", s.GetId()}, {"active", active}}}}}
}

// switchSchedule activates or deactivates one schedule.
func switchSchedule(r *page.Request) (page.View, error) {
	id, err := uuid.Parse(r.Field("schedule"))
	if err != nil {
		return page.View{}, &page.NotFound{What: "schedule"}
	}
	change := apicall.New[empty](orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, apicall.Input{
		Path: map[string]string{"id": r.Vars["id"], "schedule_id": id.String()}, Body: apicall.JSON{"active": r.Field("active") == "yes"},
	})
	if err := r.Call(change); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Here(), "switch-schedule", -1), nil
}

func nextTimes(r *page.Request, preview *orchv1.SchedulePreview) string {
	var all []string
	for _, at := range preview.GetTimes() {
		all = append(all, at.AsTime().In(r.Zone).Format("Jan 2 15:04"))
	}
	return strings.Join(all, ", ")
}
