package pages

import (
	"encoding/json"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The range of stored events of a trial, and the number of firings that the page shows.
const (
	trialRange   = 7 * 24 * time.Hour
	trialFirings = 50
)

// automationTrial shows the firings of an automation over stored events, which have no effects.
type automationTrial struct {
	Sentence string
	Firings  table
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
	}
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
