package pages

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/durationpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The strategies for runs above the limit of a deployment.
var collisionStrategies = []choice{{Value: "ENQUEUE", Title: "wait"}, {Value: "CANCEL_NEW", Title: "are cancelled"}, {Value: "GRACE_PERIOD", Title: "wait for a grace period"}}

// deploymentForms are the forms of the page of a deployment.
func deploymentForms(r *page.Request, d *orchv1.Deployment) (forms []form) {
	if r.May(orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName) {
		forms = append(forms, form{Title: "New schedule", Action: "schedule-create", Button: "Add the schedule", Fields: scheduleFields(&orchv1.DeploymentSchedule{Active: true})})
	}
	if len(d.GetSchedules()) > 0 && r.May(orchv1.BackfillService_CreateBackfill_FullMethodName) {
		forms = append(forms, backfillForm(r, d))
	}
	if r.May(orchv1.DeploymentService_UpdateDeployment_FullMethodName) {
		limit := d.GetGlobalConcurrencyLimit()
		var slots *int64
		if limit != nil {
			n := limit.GetLimit()
			slots = &n
		}
		variables, lateness := cutLateness(r, d.GetJobVariables())
		strategy := strings.TrimPrefix(d.GetConcurrencyOptions().GetCollisionStrategy().String(), "COLLISION_STRATEGY_")
		forms = append(forms, form{
			Title: "Settings", Action: "deployment-edit", Button: "Save the deployment", Hidden: versionField(d.GetUpdated()),
			Fields: []field{
				{Name: "description", Label: "Description", Kind: "textarea", Value: d.GetDescription()},
				tagsField(d.GetTags()),
				{Name: "work_pool_name", Label: "Work pool", Value: d.GetWorkPoolName(), Max: 500},
				{Name: "work_queue_name", Label: "Work queue", Value: d.GetWorkQueueName(), Max: 500},
				limitField(slots), selectField("collision_strategy", "Runs above the limit", strategy, append([]choice(nil), collisionStrategies...)),
				{Name: "parameters", Label: "Parameters", Kind: "textarea", Value: indentJSON(d.GetParameters()), Hint: "A JSON object"},
				{Name: "job_variables", Label: "Job variables", Kind: "textarea", Value: indentJSON(variables), Hint: "A JSON object"},
				{Name: "lateness", Label: "Late runs", Value: lateness, Max: 20, Hint: "keep, skip, or the seconds after which they are skipped, from 15. Empty leaves it to the labels, or keeps them"},
			},
		})
	}
	return forms
}

// readObject is the JSON object of a field; nil for an empty one.
func readObject(r *page.Request, name string, problems *[]string, invalid map[string]bool) json.RawMessage {
	typed := r.Field(name)
	var object map[string]json.RawMessage
	if typed == "" {
		return json.RawMessage("{}")
	}
	if err := json.Unmarshal([]byte(typed), &object); err != nil || object == nil {
		*problems, invalid[name] = append(*problems, name+": not a JSON object"), true
	}
	return json.RawMessage(typed)
}

// cutLateness returns job variables without the lateness variable, and the value of that variable.
func cutLateness(r *page.Request, variables json.RawMessage) (others json.RawMessage, lateness string) {
	name := r.Server.Vocabulary.Name("lateness")
	var object map[string]json.RawMessage
	if json.Unmarshal(variables, &object) != nil || object[name] == nil {
		return variables, ""
	}
	if json.Unmarshal(object[name], &lateness) != nil {
		lateness = string(object[name])
	}
	delete(object, name)
	if others, err := json.Marshal(object); err == nil {
		return others, lateness
	}
	return variables, ""
}

// addLateness returns job variables with the lateness variable of a form.
func addLateness(r *page.Request, variables json.RawMessage) json.RawMessage {
	lateness := r.Field("lateness")
	var object map[string]any
	if lateness == "" || json.Unmarshal(variables, &object) != nil || object == nil {
		return variables
	}
	object[r.Server.Vocabulary.Name("lateness")] = lateness
	if all, err := json.Marshal(object); err == nil {
		return all
	}
	return variables
}

// optionalField is the text of a field; nil for an empty one.
func optionalField(r *page.Request, name string) any {
	if typed := r.Field(name); typed != "" {
		return typed
	}
	return nil
}

func editDeployment(r *page.Request) (page.View, error) {
	d, err := readDeployment(r)
	if err != nil {
		return page.View{}, err
	}
	var problems []string
	invalid := map[string]bool{}
	limit := readNumber(r, "concurrency_limit", &problems, invalid)
	body := apicall.JSON{
		"description": r.Field("description"), "tags": tagList(r.Field("tags")), "work_pool_name": optionalField(r, "work_pool_name"), "work_queue_name": optionalField(r, "work_queue_name"),
		"concurrency_limit": limit, "parameters": readObject(r, "parameters", &problems, invalid),
		"job_variables": addLateness(r, readObject(r, "job_variables", &problems, invalid)),
	}
	if limit != nil {
		body["concurrency_options"] = apicall.JSON{"collision_strategy": r.Field("collision_strategy")}
	}
	switch {
	case problems != nil:
		return invalidForm(r, showDeployment, problems, invalid)
	case changedMeanwhile(r, d.GetUpdated()):
		return conflictingForm(r, showDeployment)
	}
	if err := r.Call(changed(orchv1.DeploymentService_UpdateDeployment_FullMethodName, apicall.Input{Path: map[string]string{"id": r.Vars["id"]}, Body: body})); err != nil {
		return refusedForm(r, showDeployment, err)
	}
	return r.Done(r.Path(), "deployment-edit", -1), nil
}

// The kinds of schedules in a form.
const (
	cronSchedule     = "cron"
	intervalSchedule = "interval"
	rruleSchedule    = "rrule"
)

// scheduleFields are the fields of a schedule.
func scheduleFields(s *orchv1.DeploymentSchedule) []field {
	kind, rule, zone := cronSchedule, "", "UTC"
	switch one := s.GetSchedule().GetKind().(type) {
	case *orchv1.Schedule_Cron:
		rule, zone = one.Cron.GetCron(), one.Cron.GetTimezone()
	case *orchv1.Schedule_Interval:
		kind, rule, zone = intervalSchedule, secondsText(one.Interval.GetInterval()), one.Interval.GetTimezone()
	case *orchv1.Schedule_Rrule:
		kind, rule, zone = rruleSchedule, one.Rrule.GetRrule(), one.Rrule.GetTimezone()
	}
	if zone == "" {
		zone = "UTC"
	}
	return []field{
		selectField("kind", "Kind", kind, []choice{{Value: cronSchedule, Title: "cron"}, {Value: intervalSchedule, Title: "interval"}, {Value: rruleSchedule, Title: "recurrence rule"}}),
		{Name: "rule", Label: "Rule", Value: rule, Required: true, Max: 6500, Hint: "cron: 0 6 * * 1-5. Interval: seconds, such as 3600. Recurrence rule: FREQ=DAILY;BYHOUR=6"},
		{Name: "timezone", Label: "Zone", Value: zone, Max: 100, Hint: "An IANA name, such as Europe/Rome"},
		{Name: "slug", Label: "Name", Value: s.GetSlug(), Max: 500, Hint: "Optional, unique within the deployment"},
		{Name: "active", Label: "Active", Kind: "checkbox", Checked: s.GetActive()},
	}
}

func secondsText(d *durationpb.Duration) string {
	return strconv.FormatFloat(d.AsDuration().Seconds(), 'f', -1, 64)
}

// scheduleBody returns the schedule of a form. The current one keeps the settings that the form does not have, if the kind stays.
func scheduleBody(r *page.Request, current *orchv1.Schedule) (body apicall.JSON, problems []string, invalid map[string]bool) {
	invalid = map[string]bool{}
	rule := apicall.JSON{"timezone": r.Field("timezone")}
	switch kind := r.Field("kind"); kind {
	case intervalSchedule:
		seconds, err := strconv.ParseFloat(r.Field("rule"), 64)
		if err != nil {
			problems, invalid["rule"] = append(problems, "rule: not a number of seconds"), true
		}
		rule["interval"] = seconds
		if anchor := current.GetInterval().GetAnchorDate(); anchor != nil {
			rule["anchor_date"] = anchor.AsTime()
		}
	case rruleSchedule:
		rule["rrule"] = r.Field("rule")
	default:
		rule["cron"] = r.Field("rule")
		if cron := current.GetCron(); cron != nil {
			rule["day_or"] = cron.GetDayOr()
		}
	}
	return apicall.JSON{"schedule": rule, "active": r.Field("active") != "", "slug": optionalField(r, "slug")}, problems, invalid
}

func createSchedule(r *page.Request) (page.View, error) {
	body, problems, invalid := scheduleBody(r, nil)
	if problems != nil {
		return invalidForm(r, showDeployment, problems, invalid)
	}
	created := apicall.New[*orchv1.DeploymentScheduleList](orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName, apicall.Input{Path: map[string]string{"id": r.Vars["id"]}, Body: []apicall.JSON{body}})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showDeployment, err)
	}
	return r.Done(r.Path(), "schedule-create", -1), nil
}

// schedulePage is the page of one schedule of a deployment.
func schedulePage() page.Page {
	return page.Page{
		Pattern: "/deployments/deployment/{id}/schedule/{schedule_id}", Section: "/deployments",
		Needs: []string{orchv1.DeploymentService_ReadDeployment_FullMethodName}, Uses: []string{orchv1.UiScheduleService_PreviewSchedule_FullMethodName}, Show: showSchedule,
		Actions: []page.Action{
			{Name: "schedule-edit", Calls: []string{orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName}, Done: "The schedule is changed.", Do: editSchedule},
			{Name: "schedule-delete", Calls: []string{orchv1.DeploymentService_DeleteDeploymentSchedule_FullMethodName}, Done: "The schedule is deleted; its scheduled runs are removed.", Do: deleteSchedule},
		},
	}
}

func readSchedule(r *page.Request) (*orchv1.Deployment, *orchv1.DeploymentSchedule, error) {
	d, err := readDeployment(r)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range d.GetSchedules() {
		if id, err := uuid.Parse(s.GetId()); err == nil && id.String() == r.Vars["schedule_id"] {
			return d, s, nil
		}
	}
	return nil, nil, &page.NotFound{What: "schedule"}
}

func showSchedule(r *page.Request) (page.View, error) {
	d, s, err := readSchedule(r)
	if err != nil {
		return page.View{}, err
	}
	v := detailView{
		Kind: "Schedule", Title: show.Line(scheduleText(s.GetSchedule()), 80), ID: show.ID(s.GetId()),
		Pairs: pairs(
			pair{"Deployment", link(r.To("deployments", "deployment", d.GetId()), d.GetName())}, pair{"Name", text(s.GetSlug())}, pair{"Active", yes(s.GetActive(), "yes", "no")},
			pair{"Next times", text(nextTimes(r, previewSchedules(r, 5, s.GetSchedule())[0].Result()))},
			pair{"Created", timeCell(r, s.GetCreated())}, pair{"Updated", timeCell(r, s.GetUpdated())},
		),
	}
	if len(s.GetParameters()) > 2 {
		v.Panels = append(v.Panels, panel{Title: "Parameters", Body: show.JSON(s.GetParameters())})
	}
	if r.May(orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "schedule-edit", Button: "Save the schedule", Fields: scheduleFields(s), Hidden: versionField(s.GetUpdated())})
	}
	if r.May(orchv1.DeploymentService_DeleteDeploymentSchedule_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "schedule-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editSchedule(r *page.Request) (page.View, error) {
	d, s, err := readSchedule(r)
	if err != nil {
		return page.View{}, err
	}
	body, problems, invalid := scheduleBody(r, s.GetSchedule())
	switch {
	case problems != nil:
		return invalidForm(r, showSchedule, problems, invalid)
	case changedMeanwhile(r, s.GetUpdated()):
		return conflictingForm(r, showSchedule)
	}
	if len(s.GetParameters()) > 2 {
		body["parameters"] = rawJSON(s.GetParameters()) // An update without them empties them.
	}
	in := apicall.Input{Path: map[string]string{"id": d.GetId(), "schedule_id": s.GetId()}, Body: body}
	if err := r.Call(changed(orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, in)); err != nil {
		return refusedForm(r, showSchedule, err)
	}
	return r.Done(r.Path(), "schedule-edit", -1), nil
}

func deleteSchedule(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the schedule?", Action: "schedule-delete", Button: "Delete the schedule", Text: "Its scheduled runs are removed. Runs that have started go on.",
		}), nil
	}
	in := apicall.Input{Path: map[string]string{"id": r.Vars["id"], "schedule_id": r.Vars["schedule_id"]}}
	if err := r.Call(changed(orchv1.DeploymentService_DeleteDeploymentSchedule_FullMethodName, in)); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("deployments", "deployment", r.Vars["id"]), "schedule-delete", -1), nil
}
