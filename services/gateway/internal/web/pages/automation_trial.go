package pages

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The range of stored events of a trial, and the number of firings that the page shows.
const (
	trialRange   = 7 * 24 * time.Hour
	trialFirings = 50
)

// automationTrial shows the firings of an automation over stored events, and the texts that its actions would have sent. Nothing is
// executed.
type automationTrial struct {
	Sentence string
	Firings  table
	// Texts are rendered for the last event that matches. Problem is the reason when there are none.
	Texts   []trialText
	Problem string
}

// trialText is a rendered template of an action, or why rendering failed.
type trialText struct {
	Title, Error string
	Value        markup.Markup
}

// try evaluates a definition over the events of the last days.
func (e *automationEditor) try(definition json.RawMessage) {
	r := e.request
	evaluated := apicall.New[*orchv1.AutomationEvaluation](orchv1.AutomationService_EvaluateAutomation_FullMethodName, apicall.Input{Body: apicall.JSON{
		"automation": definition, "since": r.Now.Add(-trialRange), "limit": trialFirings,
	}})
	switch err := r.Call(evaluated); {
	case err != nil && refusesValues(err):
		e.refuse(err)
	case err != nil:
		e.Trial = &automationTrial{Sentence: page.Problem(err)}
	default:
		e.Trial = newAutomationTrial(r, evaluated.Result())
		e.Trial.render(r, definition, evaluated.Result().LastEventId)
	}
}

// render adds the texts of the actions for an event.
func (t *automationTrial) render(r *page.Request, definition json.RawMessage, event *string) {
	if event == nil || !r.May(orchv1.AutomationService_PreviewAutomation_FullMethodName) {
		return
	}
	preview := apicall.New[*orchv1.AutomationPreview](orchv1.AutomationService_PreviewAutomation_FullMethodName, apicall.Input{Body: apicall.JSON{
		"automation": definition, "event_id": *event,
	}})
	if err := r.Call(preview); err != nil {
		t.Problem = page.Problem(err)
		return
	}
	for _, one := range preview.Result().GetRenderings() {
		text := trialText{Title: actionTitle(one.GetField()), Error: show.Line(one.GetError(), 300)}
		var written string
		switch {
		case one.Error != nil:
		case json.Unmarshal(one.GetValue(), &written) == nil:
			text.Value = show.Preformatted(written)
		default:
			text.Value = show.JSON(one.GetValue())
		}
		t.Texts = append(t.Texts, text)
	}
}

// actionTitle words a field of an action: "Action 2: debounce key" for "actions.1.debounce.key".
func actionTitle(field string) string {
	list, rest, _ := strings.Cut(field, ".")
	index, name, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(index)
	if err != nil {
		return field
	}
	title := "Action " + strconv.Itoa(n+1)
	switch list {
	case "actions_on_trigger":
		title += " when the trigger begins to hold"
	case "actions_on_resolve":
		title += " when the trigger no longer holds"
	}
	return title + ": " + strings.ReplaceAll(name, ".", " ")
}

func newAutomationTrial(r *page.Request, found *orchv1.AutomationEvaluation) *automationTrial {
	t := &automationTrial{
		Sentence: "In the last " + show.Duration(trialRange) + " it would have fired " + times(len(found.GetFirings())) + ". " +
			show.Count(found.GetMatched()) + " of " + show.Count(found.GetEvents()) + " events match. Nothing is sent by this.",
		Firings: table{Columns: []string{"Fired", "Because", "Event"}},
	}
	if found.StoppedBy != nil {
		t.Sentence += " The evaluation ended early: " + show.Line(found.GetStoppedBy(), 100) + "."
	}
	for _, f := range found.GetFirings() {
		event := cell{}
		if f.EventId != nil {
			event = text(f.GetEvent())
		}
		t.Firings.add(timeCell(r, f.GetTriggered()), text(f.GetReason()), event)
	}
	return t
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return show.Count(int64(n)) + " times"
}
