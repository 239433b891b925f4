package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationTemplate fills the form of a new automation.
type automationTemplate struct {
	name, title string
	// values are the values of the form as JSON, with "@." before the names of the server.
	values string
}

// runEnds are the events of a run that ended.
const runEnds = `["@.flow-run.Completed", "@.flow-run.Failed", "@.flow-run.Crashed", "@.flow-run.Cancelled"]`

// automationTemplates are the templates; the first one serves an address without a template.
var automationTemplates = []automationTemplate{
	{name: "", title: "Blank", values: `{"trigger": {"type": "event", "posture": "Reactive"}, "actions": []}`},
	{name: "failed", title: "A run fails", values: `{
		"name": "A run failed",
		"trigger": {"type": "event", "posture": "Reactive", "expect": ["@.flow-run.Failed", "@.flow-run.Crashed"], "match": {"@.resource.id": "@.flow-run.*"}},
		"actions": [{"type": "send-notification", "subject": "{{ flow.name }} failed", "body": "{{ flow_run.name }}: {{ flow_run.state.message }}\n{{ flow_run | ui_url }}"}]}`},
	{name: "late", title: "A run is late", values: `{
		"name": "A run is late",
		"trigger": {"type": "event", "posture": "Proactive", "after": ["@.flow-run.Late"], "expect": ["@.flow-run.Running", "@.flow-run.Cancelled"],
			"match": {"@.resource.id": "@.flow-run.*"}, "for_each": ["@.resource.id"], "within": 600},
		"actions": [{"type": "send-notification", "subject": "{{ flow.name }} is late", "body": "{{ flow_run.name }} has not started.\n{{ flow_run | ui_url }}"}]}`},
	{name: "long", title: "A run takes long", values: `{
		"name": "A run takes long",
		"trigger": {"type": "event", "posture": "Proactive", "after": ["@.flow-run.Running"], "expect": ` + runEnds + `,
			"match": {"@.resource.id": "@.flow-run.*"}, "for_each": ["@.resource.id"], "within": 3600},
		"actions": [{"type": "cancel-flow-run"}]}`},
	{name: "worker", title: "A worker is silent", values: `{
		"name": "A work pool has no worker",
		"trigger": {"type": "event", "posture": "Reactive", "expect": ["@.work-pool.not-ready"], "for_each": ["@.resource.id"]},
		"actions": [{"type": "send-notification", "subject": "{{ work_pool.name }} has no worker", "body": "No worker of {{ work_pool.name }} responds."}]}`},
	{name: "missing", title: "Something is missing", values: `{
		"name": "No completed run today",
		"trigger": {"type": "event", "posture": "Proactive", "expect": ["@.flow-run.Completed"], "match": {"@.resource.id": "@.flow-run.*"},
			"match_related": {"@.resource.role": "flow", "@.resource.name": "*"}, "within": 86400},
		"actions": [{"type": "send-notification", "subject": "No completed run today", "body": "No run of the flow has completed for a day."}]}`},
	{name: "webhook", title: "A webhook comes", values: `{
		"name": "A webhook runs a deployment",
		"trigger": {"type": "event", "posture": "Reactive"},
		"actions": [{"type": "run-deployment", "parameters": {"payload": "{{ event.payload }}"}}]}`},
}

// chosenTemplate returns the template of an address.
func chosenTemplate(r *page.Request) automationTemplate {
	var names []string
	for _, t := range automationTemplates {
		names = append(names, t.name)
	}
	chosen := r.Word("template", names...)
	return automationTemplates[max(slices.Index(names, chosen), 0)]
}

// draft returns the values of a template in the vocabulary of the server, with events and resources of the address.
func (t automationTemplate) draft(vocab vocabulary.Vocabulary, events, resources []string) (*jsontree.Object, error) {
	values, err := jsontree.ParseObject([]byte(strings.ReplaceAll(t.values, "@.", vocab.Name()+".")))
	if err != nil {
		return nil, fmt.Errorf("read the template %q: %w", t.name, err)
	}
	trigger := values.Object("trigger")
	if len(events) > 0 {
		values.Set("name", "on "+show.Line(events[0], 100))
		trigger.Set("expect", textList(events))
	}
	if len(resources) > 0 {
		trigger.Set("match", jsontree.NewObject(jsontree.Member{Key: vocab.ResourceID(), Value: textList(resources)}))
	}
	return values, nil
}

func textList(texts []string) jsontree.List {
	list := jsontree.List{}
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}
