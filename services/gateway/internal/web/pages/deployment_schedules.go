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
	rules := make([]*orchv1.Schedule, len(d.GetSchedules()))
	for i, s := range d.GetSchedules() {
		if s.GetActive() && !d.GetPaused() {
			rules[i] = s.GetSchedule()
		}
	}
	previews := previewSchedules(r, 3, rules...)
	for i, s := range d.GetSchedules() {
		t.add(link(r.To("deployments", "deployment", d.GetId(), "schedule", s.GetId()), scheduleText(s.GetSchedule())), yes(s.GetActive(), "active", "inactive"),
			text(nextTimes(r, previews[i].Result())), scheduleSwitch(r, s))
	}
	return panel{Title: "Schedules", Table: t}
}

// previewSchedules asks for the next n times of schedules. A nil schedule has none; without the scope for them there are none at all.
func previewSchedules(r *page.Request, n int, rules ...*orchv1.Schedule) []*apicall.Unary[*orchv1.SchedulePreview] {
	previews := make([]*apicall.Unary[*orchv1.SchedulePreview], len(rules))
	var calls []apicall.Call
	for i, rule := range rules {
		raw, err := restjson.Marshal(rule)
		previews[i] = apicall.New[*orchv1.SchedulePreview](orchv1.UiScheduleService_PreviewSchedule_FullMethodName, apicall.Input{Body: apicall.JSON{"schedule": rawJSON(raw), "n": n}})
		if rule != nil && err == nil {
			calls = append(calls, previews[i])
		}
	}
	_ = r.Call(calls...)
	return previews
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
