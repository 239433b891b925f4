package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// backfillStates are the buttons that change the state of a backfill: their actions and titles, the calls, and the states that have them.
var backfillStates = []struct {
	action, title, rpc, done string
	from                     []orchv1.BackfillState
}{
	{
		"backfill-pause", "Pause", orchv1.BackfillService_PauseBackfill_FullMethodName, "The backfill is paused; its unfinished runs go on.",
		[]orchv1.BackfillState{orchv1.BackfillState_BACKFILL_STATE_RUNNING},
	},
	{
		"backfill-resume", "Resume", orchv1.BackfillService_ResumeBackfill_FullMethodName, "The backfill goes on.",
		[]orchv1.BackfillState{orchv1.BackfillState_BACKFILL_STATE_PAUSED},
	},
	{
		"backfill-cancel", "Cancel", orchv1.BackfillService_CancelBackfill_FullMethodName, "The backfill is cancelled, and so are its unfinished runs.",
		[]orchv1.BackfillState{orchv1.BackfillState_BACKFILL_STATE_RUNNING, orchv1.BackfillState_BACKFILL_STATE_PAUSED},
	},
}

// shownBackfills is the number of backfills on the page of a deployment.
const shownBackfills = 20

// backfillPanel lists the last backfills of a deployment with their progress.
func backfillPanel(r *page.Request, backfills *apicall.Unary[*orchv1.BackfillList]) panel {
	t := &table{Columns: []string{"From", "To", "State", "Created", "Unfinished", "Completed", "Failed", "Cancelled", ""}, Empty: "No backfill."}
	for _, b := range backfills.Result().GetBackfills() {
		state := show.Line(strings.ToLower(strings.TrimPrefix(b.GetState().String(), "BACKFILL_STATE_")), 40)
		if b.Message != nil {
			state += ": " + show.Line(b.GetMessage(), 120)
		}
		t.add(timeCell(r, b.GetStartTime()), timeCell(r, b.GetEndTime()), text(state),
			text(fmt.Sprintf("%s of %s", show.Count(b.GetCreatedRuns()), show.Count(b.GetTotalRuns()))),
			count(b.GetUnfinishedRuns()), count(b.GetCompletedRuns()), count(b.GetFailedRuns()), count(b.GetCancelledRuns()), backfillButtons(r, b))
	}
	return panel{Title: "Backfills", Table: t, Problem: page.Problem(backfills.Err())}
}

func backfillButtons(r *page.Request, b *orchv1.Backfill) (c cell) {
	for _, change := range backfillStates {
		if slices.Contains(change.from, b.GetState()) && r.May(change.rpc) {
			c.Buttons = append(c.Buttons, button{Action: change.action, Title: change.title, Fields: []hiddenField{{"backfill", b.GetId()}}})
		}
	}
	return c
}

// backfillActions are the actions on backfills of the page of a deployment.
func backfillActions() []page.Action {
	actions := []page.Action{{
		Name: "backfill-create", Calls: []string{orchv1.BackfillService_CreateBackfill_FullMethodName},
		Done: "The backfill is created.", Do: createBackfill,
	}}
	for _, change := range backfillStates {
		actions = append(actions, page.Action{Name: change.action, Calls: []string{change.rpc}, Done: change.done, Do: func(r *page.Request) (page.View, error) {
			id, err := uuid.Parse(r.Field("backfill"))
			if err != nil {
				return page.View{}, &page.NotFound{What: "backfill"}
			}
			if err := r.Call(apicall.New[*orchv1.Backfill](change.rpc, apicall.ID(id.String()))); err != nil {
				return page.View{}, err
			}
			return r.Done(r.Here(), change.action, -1), nil
		}})
	}
	return actions
}

// formTime is the format of a time in a form.
const formTime = "2006-01-02T15:04"

// backfillForm is the form of a new backfill of a deployment with schedules.
func backfillForm(r *page.Request, d *orchv1.Deployment) form {
	var schedules []choice
	for _, s := range d.GetSchedules() {
		title := scheduleText(s.GetSchedule())
		if s.GetSlug() != "" {
			title = s.GetSlug() + ": " + title
		}
		schedules = append(schedules, choice{Value: s.GetId(), Title: show.Line(title, 80)})
	}
	hint := "In the zone " + r.Zone.String()
	return form{
		Title: "New backfill", Action: "backfill-create", Button: "Create the backfill",
		Text: "One run for each time of a schedule in a range of the past, oldest first, whether or not the time has runs already.",
		Fields: []field{
			selectField("schedule_id", "Schedule", "", schedules),
			{Name: "start_time", Label: "From", Kind: kindDateTime, Required: true, Hint: hint},
			{Name: "end_time", Label: "To", Kind: kindDateTime, Required: true, Hint: hint},
			{Name: "max_parallel_runs", Label: "Unfinished runs at a time", Kind: "number", Value: "1", Hint: "1 to 100"},
			{Name: "parameters", Label: "Parameters", Kind: "textarea", Value: "{}", Hint: "A JSON object, over the parameters of the schedule and the deployment"},
		},
	}
}

func createBackfill(r *page.Request) (page.View, error) {
	var problems []string
	invalid := map[string]bool{}
	body := apicall.JSON{"deployment_id": r.Vars["id"], "schedule_id": r.Field("schedule_id"), "parameters": readObject(r, "parameters", &problems, invalid)}
	if n := readNumber(r, "max_parallel_runs", &problems, invalid); n != nil {
		body["max_parallel_runs"] = n
	}
	for _, name := range []string{"start_time", "end_time"} {
		at, err := time.ParseInLocation(formTime, r.Field(name), r.Zone)
		if err != nil {
			problems, invalid[name] = append(problems, name+": not a time such as 2030-01-31T12:00"), true
		}
		body[name] = at
	}
	if problems != nil {
		return invalidForm(r, showDeployment, problems, invalid)
	}
	if err := r.Call(apicall.New[*orchv1.Backfill](orchv1.BackfillService_CreateBackfill_FullMethodName, apicall.Input{Body: body})); err != nil {
		return refusedForm(r, showDeployment, err)
	}
	return r.Done(r.Path(), "backfill-create", -1), nil
}
