package pages

import (
	"encoding/json"
	"net/http"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The rpcs of the pages of event types.
const (
	readEventTypes = orchv1.EventTypeService_ReadEventTypes_FullMethodName
	pinEventType   = orchv1.EventTypeService_PinEventType_FullMethodName
)

// eventTypePages are the list of event types and the page of one.
func eventTypePages() []page.Page {
	return []page.Page{
		{
			Pattern: "/events/types", Section: "/events", Needs: []string{readEventTypes}, Show: showEventTypes,
			Uses: []string{orchv1.EventService_CountEvents_FullMethodName},
		},
		{
			Pattern: "/events/types/type/{id}", Section: "/events", Needs: []string{orchv1.EventTypeService_ReadEventType_FullMethodName}, Show: showEventType,
			Uses: []string{orchv1.EventService_ReadEvents_FullMethodName},
			Actions: []page.Action{
				{Name: "event-type-pin", Calls: []string{pinEventType}, Done: "The schema is pinned. Events that violate it are marked.", Do: pinSchema},
				{
					Name: "event-type-unpin", Calls: []string{orchv1.EventTypeService_UnpinEventType_FullMethodName},
					Done: "The schema is not pinned any more.", Do: unpinSchema,
				},
				{
					Name: "event-type-delete", Calls: []string{orchv1.EventTypeService_DeleteEventType_FullMethodName},
					Done: "The event type is deleted. The next event of the name begins another one.", Do: deleteEventType,
				},
			},
		},
	}
}

func showEventTypes(r *page.Request) (page.View, error) {
	f := eventFilter{Window: r.Window()}
	body, q, skip, err := listBody(r, "event_types", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	types := apicall.New[*orchv1.EventTypeList](readEventTypes, apicall.Input{Body: body})
	if err := r.Call(types); err != nil {
		return page.View{}, err
	}
	list, more := cut(types.Result().GetEventTypes(), param50)
	counts := map[string]int64{}
	for _, t := range list {
		f.Names = append(f.Names, t.GetName())
	}
	v := listView{
		Title: "Event types", Intro: "The names of the events of this workspace, with schemas that the server inferred from their payloads.",
		Search: true, Q: q, Path: r.Path(), Links: []tab{{Title: "Events", Path: r.To("events")}},
		Table: table{Columns: []string{"Event", "Schema", "Events, 24 h", "Violations", "First seen", "Last seen"}, Empty: "No event has come yet."},
	}
	if len(list) > 0 {
		byName := countEvents("event", apicall.JSON{"filter": apicall.JSON{
			"occurred": apicall.JSON{"since": f.Window.From, "until": f.Window.To}, "event": apicall.JSON{"name": f.Names},
		}})
		_ = r.Call(byName)
		v.Problems = problems(byName)
		for _, c := range byName.Result().GetCounts() {
			counts[c.GetValue()] = c.GetCount()
		}
	}
	for _, t := range list {
		v.Table.add(link(r.To("events", "types", "type", t.GetId()), show.Line(t.GetName(), 80)), text(schemaWord(t)), count(counts[t.GetName()]), count(t.GetViolations()),
			timeCell(r, t.GetFirstSeen()), timeCell(r, t.GetLastSeen()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

// schemaWord says which schema an event type has.
func schemaWord(t *orchv1.EventType) string {
	switch {
	case t.Pinned != nil:
		return "pinned"
	case t.Schema != nil:
		return "inferred"
	}
	return ""
}

func showEventType(r *page.Request) (page.View, error) {
	read := apicall.New[*orchv1.EventType](orchv1.EventTypeService_ReadEventType_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(read); err != nil {
		return page.View{}, err
	}
	t := read.Result()
	last, violating := lastEvents(apicall.JSON{"event": apicall.JSON{"name": []string{t.GetName()}}}, 1),
		lastEvents(apicall.JSON{"any_resource": apicall.JSON{"id": []string{r.Server.Vocabulary.Name("event-type", t.GetId())}}}, 10)
	calls := []apicall.Call{last}
	if t.Pinned != nil || t.GetViolations() > 0 {
		calls = append(calls, violating)
	}
	_ = r.Call(calls...) // The panel of a failed call shows its error.
	v := detailView{
		Kind: "Event type", Title: show.Line(t.GetName(), 80), ID: show.ID(t.GetId()),
		Pairs: pairs(pair{"First seen", timeCell(r, t.GetFirstSeen())}, pair{"Last seen", timeCell(r, t.GetLastSeen())},
			pair{"Pinned", timeCell(r, t.GetPinned())}, pair{"Violations", count(t.GetViolations())}),
		Links: []tab{{Title: "Events", Path: r.To("events") + "?" + queryOf("event", t.GetName())}},
	}
	if r.May(orchv1.AutomationService_CreateAutomation_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "Automate this", Path: automateLink(r, []string{t.GetName()}, nil)})
	}
	if t.Pinned != nil {
		v.Panels = append(v.Panels, panel{Title: "Pinned schema", Body: show.JSON(t.GetPinnedSchema())},
			panel{Title: "Last violations", Table: violationTable(r, t, violating.Result().GetEvents()), Problem: page.Problem(violating.Err())})
	}
	if t.Schema != nil {
		v.Panels = append(v.Panels, panel{Title: "Inferred schema", Body: show.JSON(t.GetSchema())})
	}
	v.Panels = append(v.Panels, panel{Title: "Last event", Body: sampleOf(last), Problem: page.Problem(last.Err())})
	if r.May(pinEventType) {
		v.Forms = append(v.Forms, pinForm(t))
		if t.Pinned != nil {
			v.Buttons = append(v.Buttons, button{Action: "event-type-unpin", Title: "Unpin"})
		}
		v.Buttons = append(v.Buttons, button{Action: "event-type-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// pinForm pins a schema: the pinned one, else the inferred one, is its draft.
func pinForm(t *orchv1.EventType) form {
	draft := t.GetPinnedSchema()
	if t.Pinned == nil {
		draft = t.GetSchema()
	}
	return form{Title: "Pin a schema", Action: "event-type-pin", Button: "Pin the schema", Fields: []field{{
		Name: "schema", Label: "JSON Schema of the payload", Kind: "textarea", Value: indentJSON(draft), Required: true,
		Hint: "Events that violate it get a related resource with the role violated-schema. No event is refused.",
	}}}
}

// lastEvents is the question for the last events that match.
func lastEvents(filter apicall.JSON, limit int) *apicall.Unary[*orchv1.EventPage] {
	filter["order"] = "DESC"
	return apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{"filter": filter, "limit": limit, "total_limit": 1}})
}

// sampleOf shows the first event of a page as JSON.
func sampleOf(events *apicall.Unary[*orchv1.EventPage]) markup.Markup {
	for _, e := range events.Result().GetEvents() {
		if raw, err := restjson.Marshal(e); err == nil {
			return show.JSON(raw)
		}
	}
	return show.Text("No event is stored any more.")
}

// violationTable lists events that violate the pinned schema of their type.
func violationTable(r *page.Request, t *orchv1.EventType, events []*orchv1.ReceivedEvent) *table {
	vocab := r.Server.Vocabulary
	list := &table{Columns: []string{"Occurred", "Path", "Reason"}, Empty: "No stored event violates the schema."}
	for _, e := range events {
		for _, related := range e.GetRelated() {
			labels := related.GetLabels()
			if labels[vocab.ResourceID()] == vocab.Name("event-type", t.GetId()) {
				list.add(link(eventLink(r, e), clockOf(r).Text(e.GetOccurred().AsTime())), text(labels[vocab.Name("schema", "path")]), text(labels[vocab.Name("schema", "reason")]))
			}
		}
	}
	return list
}

func pinSchema(r *page.Request) (page.View, error) {
	in := apicall.ID(r.Vars["id"])
	schema := json.RawMessage(newlines(r.Form.Get("schema")))
	if !json.Valid(schema) {
		return refusedForm(r, showEventType, rpc.Detail(http.StatusUnprocessableEntity, "The schema is not JSON."))
	}
	in.Body = apicall.JSON{"schema": schema}
	if err := r.Call(apicall.New[*orchv1.EventType](pinEventType, in)); err != nil {
		return refusedForm(r, showEventType, err)
	}
	return r.Done(r.Path(), "event-type-pin", -1), nil
}

func unpinSchema(r *page.Request) (page.View, error) {
	if err := r.Call(changed(orchv1.EventTypeService_UnpinEventType_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "event-type-unpin", -1), nil
}

func deleteEventType(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the event type?", Action: "event-type-delete", Button: "Delete the event type",
			Text: "Its schema is forgotten, and events are not checked any more. The next event of the name begins another one.",
		}), nil
	}
	if err := r.Call(changed(orchv1.EventTypeService_DeleteEventType_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("events", "types"), "event-type-delete", -1), nil
}
