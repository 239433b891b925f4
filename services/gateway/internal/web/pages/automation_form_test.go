package pages

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

const someUUID = "01890000-0000-7000-8000-000000000001"

// submitAutomation returns the form that a browser gets after its reader changed a form and submitted it, and the definition in it.
func submitAutomation(t require.TestingT, form schemaForm, changes url.Values) (schemaForm, *jsontree.Object) {
	r := &page.Request{Zone: time.UTC, Form: form.submitted()}
	maps.Copy(r.Form, changes)
	again, err := newAutomationForm(r, jsontree.NewObject())
	require.NoError(t, err)
	values, _ := again.read(r)
	return again, again.automation(values)
}

// canonical returns a definition as the API writes it.
func canonical(t require.TestingT, definition *jsontree.Object) *jsontree.Object {
	decoded := &orchv1.AutomationUpdate{}
	require.NoError(t, restjson.Unmarshal(jsontree.Text(definition), decoded))
	raw, err := restjson.Marshal(decoded)
	require.NoError(t, err)
	return object(t, string(raw))
}

// A form either yields the automation that it shows, or the page names a value that it would lose.
func TestAutomationsComeBackFromTheirForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := restjsontest.Messages[*orchv1.AutomationUpdate](restjsontest.WithDepth(3)).Draw(t, "automation")
		raw, err := restjson.Marshal(given)
		require.NoError(t, err)
		definition := object(t, string(raw))
		form, lost, err := automationFormOf(&page.Request{Zone: time.UTC}, definition)
		require.NoError(t, err)
		_, read := submitAutomation(t, form, nil)
		if lost != "" {
			_, differ := difference(definition, read, nil)
			require.True(t, differ, lost)
			return
		}
		again := canonical(t, read)
		at, differ := difference(definition, again, nil)
		require.False(t, differ, at)
		at, differ = difference(again, definition, nil)
		require.False(t, differ, at)
	})
}

func TestFormsNameWhatTheyWouldLose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, definition, lost string }{
		{"nothing", `{"name": "a", "trigger": {"type": "event", "posture": "Reactive", "match": {"a": ["b"]}, "within": "PT1H"}, "actions": []}`, ""},
		{"an owner", `{"name": "a", "trigger": {"type": "event", "posture": "Reactive"}, "actions": [], "owner_resource": "x"}`, "owner_resource"},
		{"a member of the trigger", `{"name": "a", "trigger": {"type": "event", "posture": "Reactive", "color": 1}, "actions": []}`, "trigger.color"},
		{"a member of an action", `{"name": "a", "trigger": {"type": "event", "posture": "Reactive"}, "actions": [{"type": "do-nothing"}, {"type": "do-nothing", "x": 1}]}`, "actions.1.x"},
		{"a carriage return", `{"name": "a", "description": "a\rb", "trigger": {"type": "event", "posture": "Reactive"}, "actions": []}`, "description"},
		{"a choice", `{"name": "a", "trigger": {"type": "event", "posture": "Active"}, "actions": []}`, "trigger.posture"},
		{"a number that is a text", `{"name": "a", "trigger": {"type": "event", "posture": "Reactive", "threshold": "1"}, "actions": []}`, "trigger.threshold"},
		{"a kind is JSON text", `{"name": "a", "trigger": {"type": "moon"}, "actions": [{"type": "sun"}]}`, ""},
		{"triggers of one kind are nested, deep ones JSON text", `{"name": "a", "trigger": {"type": "compound", "require": "any", "within": null, "triggers": [
			{"type": "sequence", "within": 60, "triggers": [{"type": "event", "posture": "Reactive", "expect": []}]}]}, "actions": []}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, lost, err := automationFormOf(&page.Request{Zone: time.UTC}, object(t, c.definition))
			require.NoError(t, err)
			require.Equal(t, c.lost, lost)
		})
	}
}

func TestFormsAskForEventsOrEveryEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		typed         url.Values
		expect, error string
	}{
		{"as it is", nil, `[]`, ""},
		{"neither", url.Values{"p.trigger/every_event": nil}, `[]`, "name an event, or let every event count"},
		{"both", url.Values{"p.trigger/expect": {"a.b"}}, `["a.b"]`, "leave the names empty, or let not every event count"},
		{"an event", url.Values{"p.trigger/every_event": nil, "p.trigger/expect": {" a.b \r\n\r\nc.*"}}, `["a.b", "c.*"]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			form, lost, err := automationFormOf(&page.Request{Zone: time.UTC}, object(t, `{"name": "a", "trigger": {"type": "event", "posture": "Reactive"}, "actions": []}`))
			require.NoError(t, err)
			require.Empty(t, lost)
			form, read := submitAutomation(t, form, c.typed)
			require.Equal(t, c.error != "", form.failed())
			for _, f := range form.Fields {
				if f.Name == "p.trigger/expect" {
					require.Equal(t, c.error, f.Error)
				}
			}
			require.JSONEq(t, c.expect, string(jsontree.Text(member(read.Object("trigger"), "expect"))))
			_, extra := read.Object("trigger").Get(everyEvent)
			require.False(t, extra)
		})
	}
}

// Each template is an automation once its reader names the objects and events that it leaves open.
func TestTemplatesFillTheForm(t *testing.T) {
	t.Parallel()
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		for _, template := range automationTemplates {
			t.Run(vocab.String()+" "+template.title, func(t *testing.T) {
				t.Parallel()
				draft, err := template.draft(vocab, nil, nil)
				require.NoError(t, err)
				form, err := newAutomationForm(&page.Request{Zone: time.UTC}, draft)
				require.NoError(t, err)
				changes := url.Values{}
				for _, f := range form.Fields {
					if strings.HasSuffix(f.Name, "/block_document_id") || strings.HasSuffix(f.Name, "/deployment_id") {
						changes.Set(f.Name, someUUID)
					}
				}
				if template.name == "" {
					changes.Set("p.name", "blank")
				}
				if _, named := draft.Object("trigger").Get("expect"); !named {
					changes.Set("p.trigger/expect", "order.placed")
				}
				form, read := submitAutomation(t, form, changes)
				require.False(t, form.failed(), form.Fields)
				require.NotContains(t, string(jsontree.Text(read)), "@.")
				require.NoError(t, restjson.Unmarshal(jsontree.Text(read), &orchv1.AutomationCreate{}))
				at, differ := difference(draft, read, nil)
				require.False(t, differ, at)
			})
		}
	}
}

// The form has a title and an order for each field of each kind of trigger and action.
func TestEveryFieldOfAutomationsHasATitle(t *testing.T) {
	t.Parallel()
	raw, err := automationSchema()
	require.NoError(t, err)
	for _, m := range object(t, string(raw)).Object("components").Object("schemas").Members() {
		schema := m.Value.(*jsontree.Object)
		groups := []string{"AutomationUpdate-Input", "Debounce-Input", "Batch-Input", "Singleton"}
		if schema.Object("properties").Object("type").Len() == 0 && !slices.Contains(groups, m.Key) {
			continue // Neither a kind nor a group.
		}
		for _, p := range schema.Object("properties").Members() {
			if property := p.Value.(*jsontree.Object); p.Key != "type" && property.Text("notation") != "hidden" {
				require.NotEmpty(t, property.Text("title"), "%s.%s", m.Key, p.Key)
			}
		}
	}
}

func TestRefusalsStandAtTheirFields(t *testing.T) {
	t.Parallel()
	form, _, err := automationFormOf(&page.Request{Zone: time.UTC}, object(t, `{"name": "a", "trigger": {"type": "event", "posture": "Reactive"}, "actions": [{"type": "do-nothing"}]}`))
	require.NoError(t, err)
	key := func(name string) *orchv1.PathElement {
		return &orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: name}}
	}
	index := func(i int64) *orchv1.PathElement {
		return &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: i}}
	}
	form.placeErrors([]*orchv1.FieldError{
		{Loc: []*orchv1.PathElement{key("body"), key("trigger"), key("within")}, Msg: "too short"},
		{Loc: []*orchv1.PathElement{key("body"), key("actions"), index(0)}, Msg: "no target"},
		{Loc: []*orchv1.PathElement{key("body"), key("trigger"), key("match"), key("x")}, Msg: "no text"},
		{Loc: []*orchv1.PathElement{key("body"), key("trigger"), key("id")}, Msg: "hidden"},
		{Loc: []*orchv1.PathElement{key("body")}, Msg: "nothing"},
	})
	found := map[string]string{}
	for _, f := range form.Fields {
		if f.Error != "" {
			found[f.Name] = f.Error
		}
	}
	require.Equal(t, map[string]string{"p.trigger/within": "too short", "p.actions/0": "no target", "p.trigger/match": "x: no text", "p.trigger": "id: hidden"}, found)
	require.Equal(t, []string{"nothing"}, form.Errors)
}
