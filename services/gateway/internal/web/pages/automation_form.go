package pages

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/openapi"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// The form of an automation is the form of its schema in the OpenAPI document, with the titles, notations and order of
// automation_form.json. So a new kind of action of the API is in the form.

//go:embed automation_form.json
var automationFormTexts []byte

// everyEvent is a member that the form adds to event triggers. An empty list of expected events counts every event, which the reader has
// to say.
const everyEvent = "every_event"

// automationSchema returns the schema of the form.
var automationSchema = sync.OnceValues(func() ([]byte, error) {
	description, err := openapi.Document(openapi.Options{Title: "Automations", Version: "1", Brief: true, Operations: []string{"update_automation"}},
		orchv1.File_orch_v1_automations_proto.Services().ByName("AutomationService"))
	if err != nil {
		return nil, fmt.Errorf("describe automations: %w", err)
	}
	schema, err := jsontree.ParseObject(description)
	if err != nil {
		return nil, fmt.Errorf("read the description of automations: %w", err)
	}
	texts, err := jsontree.ParseObject(automationFormTexts)
	if err != nil {
		return nil, fmt.Errorf("read the texts of the form: %w", err)
	}
	for _, m := range schema.Object("components").Object("schemas").Members() {
		if component, ok := m.Value.(*jsontree.Object); ok {
			name := strings.TrimSuffix(m.Key, "-Input")
			overlay(component, texts.Object(name))
			if name == "AutomationUpdate" {
				schema.Set("required", member(component, "required"))
				schema.Set("properties", component.Object("properties"))
			}
		}
	}
	return jsontree.Text(schema), nil
})

// overlay sets the keywords of a schema and of its properties. Properties have the order of the texts.
func overlay(schema, texts *jsontree.Object) {
	for _, m := range texts.Members() {
		if m.Key != "properties" {
			schema.Set(m.Key, m.Value)
			continue
		}
		for i, p := range texts.Object(m.Key).Members() {
			property := schema.Object(m.Key).Object(p.Key)
			if property == nil {
				property = jsontree.NewObject()
				schema.Object(m.Key).Set(p.Key, property)
			}
			overlay(property, texts.Object(m.Key).Object(p.Key))
			property.Set("position", json.Number(strconv.Itoa(i)))
		}
	}
}

// newAutomationForm builds the form from values, or from the posted fields.
func newAutomationForm(r *page.Request, values *jsontree.Object) (schemaForm, error) {
	schema, err := automationSchema()
	if err != nil {
		return schemaForm{}, err
	}
	return newSchemaForm(r, schema, values), nil
}

// automationFormOf builds the form of a definition. It names the first value that the form cannot show without loss, such as
// "trigger.color"; the name is empty for a form that yields the same definition.
func automationFormOf(r *page.Request, definition *jsontree.Object) (form schemaForm, lost string, err error) {
	shown := &page.Request{Zone: r.Zone}
	if form, err = newAutomationForm(shown, markEveryEvent(definition)); err != nil {
		return form, "", err
	}
	shown.Form = form.submitted()
	again, err := newAutomationForm(shown, jsontree.NewObject())
	if err != nil {
		return form, "", err
	}
	values, _ := again.read(shown)
	at, _ := difference(definition, again.automation(values), nil)
	return form, strings.Join(at, "."), nil
}

// markEveryEvent returns the values of the form for a definition: event triggers without expected events count every event.
func markEveryEvent(definition *jsontree.Object) *jsontree.Object {
	values, _ := jsontree.Copy(definition).(*jsontree.Object)
	eachTrigger(values.Object("trigger"), []string{"trigger"}, func(trigger *jsontree.Object, path []string) {
		if trigger.Text("type") == eventTrigger && len(path) <= maxNesting { // The text of a deeper one has no further member.
			expected, isList := member(trigger, "expect").(jsontree.List)
			trigger.Set(everyEvent, len(expected) == 0 && (isList || member(trigger, "expect") == nil))
		}
	})
	return values
}

// automation returns the definition of an automation for the values of its form. It marks event triggers that name no events and do not
// count every event, or do both.
func (f *schemaForm) automation(values *jsontree.Object) *jsontree.Object {
	eachTrigger(values.Object("trigger"), []string{"trigger"}, func(trigger *jsontree.Object, path []string) {
		every, given := trigger.Get(everyEvent)
		trigger.Delete(everyEvent)
		expected, _ := member(trigger, "expect").(jsontree.List)
		switch at := append(slices.Clip(path), "expect"); {
		case !given || f.resized || trigger.Text("type") != eventTrigger:
		case every == true && len(expected) > 0:
			f.placeReason("leave the names empty, or let not every event count", at)
		case every != true && len(expected) == 0:
			f.placeReason("name an event, or let every event count", at)
		}
	})
	return values
}

const eventTrigger = "event"

// eachTrigger calls visit for a trigger and for those inside it.
func eachTrigger(trigger *jsontree.Object, path []string, visit func(trigger *jsontree.Object, path []string)) {
	if trigger == nil {
		return
	}
	visit(trigger, path)
	children, _ := member(trigger, "triggers").(jsontree.List)
	for i, child := range children {
		object, _ := child.(*jsontree.Object)
		eachTrigger(object, append(slices.Clip(path), "triggers", strconv.Itoa(i)), visit)
	}
}
