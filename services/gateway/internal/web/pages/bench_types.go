package pages

import (
	"encoding/json"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// benchType is what the bench shows of the event type of an event that a draft renders.
type benchType struct {
	Name markup.Markup
	// Note says which schema the event type has, or that no event of the name was stored.
	Note string
	// Violation is where and why the first event of the name that violates the pinned schema does so; empty for none.
	Violation string
	// stored is the name of the event type; empty if there is none.
	stored string
}

// renderedEvent is what benchTypes reads of an event.
type renderedEvent struct {
	Event   string              `json:"event"`
	Related []map[string]string `json:"related"`
}

// benchTypes compares the events of a rendering with the event types of the workspace.
func benchTypes(r *page.Request, a *orchv1.WebhookRendering) (types []benchType) {
	var events []renderedEvent
	if json.Unmarshal(a.GetEvents(), &events) != nil {
		var one renderedEvent
		if json.Unmarshal(a.GetEvent(), &one) != nil {
			return nil
		}
		events = []renderedEvent{one}
	}
	var names []string
	for _, e := range events {
		if !slices.Contains(names, e.Event) {
			names = append(names, e.Event)
		}
	}
	if !r.May(readEventTypes) || len(names) == 0 {
		return nil
	}
	eventTypes := apicall.New[*orchv1.EventTypeList](readEventTypes, apicall.Input{Body: apicall.JSON{"event_types": apicall.JSON{"name": any_(names)}}})
	if r.Call(eventTypes) != nil { // The preview serves without them.
		return nil
	}
	for _, name := range names {
		t := benchType{Name: show.Text(show.Line(name, 80)), Note: "No event of this name was stored yet."}
		for _, one := range eventTypes.Result().GetEventTypes() {
			if one.GetName() == name {
				t.stored, t.Name = name, show.Link(r.To("events", "types", "type", one.GetId()), show.Line(name, 80))
				t.Note, t.Violation = schemaNote(one), violationOf(r, one, events)
			}
		}
		types = append(types, t)
	}
	return types
}

// example shows the last stored event of the first event type of the preview.
func (v *benchView) example(r *page.Request) {
	first := slices.IndexFunc(v.Preview.Types, func(t benchType) bool { return t.stored != "" })
	if first < 0 || !r.May(orchv1.EventService_ReadEvents_FullMethodName) {
		return
	}
	name := v.Preview.Types[first].stored
	last := lastEvents(apicall.JSON{"event": apicall.JSON{"name": []string{name}}}, 1)
	if r.Call(last) == nil {
		v.ExampleTitle, v.Example = "Last stored event "+show.Line(name, 80), sampleOf(last)
	}
}

// schemaNote says which schema an event type has.
func schemaNote(t *orchv1.EventType) string {
	if word := schemaWord(t); word != "" {
		return word + " schema"
	}
	return "no schema"
}

// violationOf says where and why the first event that violates the pinned schema of an event type does so.
func violationOf(r *page.Request, t *orchv1.EventType, events []renderedEvent) string {
	vocab := r.Server.Vocabulary
	for _, e := range events {
		for _, labels := range e.Related {
			if labels[vocab.ResourceID()] == vocab.Name("event-type", t.GetId()) {
				return show.Line(labels[vocab.Name("schema", "path")]+" "+labels[vocab.Name("schema", "reason")], 200)
			}
		}
	}
	return ""
}
