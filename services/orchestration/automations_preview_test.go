package orchestration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) preview(text string) (*orchv1.AutomationPreview, error) {
	query := &orchv1.AutomationPreviewQuery{}
	require.NoError(d.t, restjson.Unmarshal([]byte(text), query))
	result, _, err := try[*orchv1.AutomationPreview](d, orchv1.AutomationService_PreviewAutomation_FullMethodName, &orchv1.PreviewAutomationRequest{Query: query})
	return result, err
}

// A preview has the texts that an execution has, for a stored event, an event that is sent, and the last firing.
func TestThePreviewOfAnAutomationIsWhatItsActionsWouldSend(t *testing.T) {
	d := newDomain(t)
	document := d.notification("slack-webhook", `{"url":"https://hooks.example.com/x"}`)
	call[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName, &orchv1.CreateVariableRequest{
		Variable: &orchv1.VariableCreate{Name: "region", Value: []byte(`"eu"`)},
	})
	deployment := d.deployment(d.flow("ship")).GetId()
	definition := fmt.Sprintf(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["order.paid"],"for_each":["orch.resource.id"]},"actions":[
		{"type":"send-notification","block_document_id":%q,"subject":"{{ automation.name }} in {{ variables.region }}","body":"n is {{ event.payload.n }}\nof {{ labels['orch.resource.id'] }}"},
		{"type":"run-deployment","deployment_id":%q,"parameters":{"n":"{{ event.payload.n }}","plain":true},"job_variables":{"image":"{{ no template }}"},
			"batch":{"key":"{{ event.resource.id }}","timeout":60},"singleton":{"key":"{{ event.payload.none }}"}},
		{"type":"call-webhook","block_document_id":%q,"payload":"{{ 1 }}\n{{ 'a' / 2 }}"},
		{"type":"do-nothing"}],
		"actions_on_trigger":[{"type":"send-email-notification","emails":["ada@example.com"],"subject":"{{ event.event }}","body":"{{ firing.trigger_states[0] }}"}],
		"actions_on_resolve":[{"type":"send-email-notification","emails":["ada@example.com"],"body":"{{ firing.trigger_states[0] }}"}]}`, document, deployment, document)
	stored := d.automation(definition)
	_, err := d.preview(fmt.Sprintf(`{"automation_id":%q}`, stored.GetId()))
	require.EqualValues(t, 404, rpc.HTTPError(err).GetStatus(), "it has not fired")

	id := d.emit("order.paid", "order.1")
	d.eventually("order.paid", 1)
	d.eventually("orch.automation.triggered", 1)
	for name, query := range map[string]string{
		"a stored event": fmt.Sprintf(`{"automation":%s,"event_id":%q}`, definition, id),
		"the event of a request": fmt.Sprintf(`{"automation_id":%q,"event":{"event":"order.paid","resource":{"orch.resource.id":"order.1"},"payload":{"n":5},
			"id":%q,"occurred":"2026-03-01T12:00:00Z"}}`, stored.GetId(), id),
		"the last firing": fmt.Sprintf(`{"automation_id":%q}`, stored.GetId()),
	} {
		t.Run(name, func(t *testing.T) {
			found, err := d.preview(query)
			require.NoError(t, err)
			require.Equal(t, id, found.GetEventId())
			values, failed := map[string]string{}, map[string]*orchv1.AutomationRendering{}
			for _, one := range found.GetRenderings() {
				if one.Error != nil {
					failed[one.GetField()] = one
					continue
				}
				values[one.GetField()] = string(one.GetValue())
			}
			for field, want := range map[string]string{
				"actions.0.subject": `"tell in eu"`, "actions.0.body": `"n is 5\nof order.1"`, "actions.1.batch.key": `"order.1"`,
				"actions_on_trigger.0.subject": `"orch.automation.triggered"`, "actions_on_trigger.0.body": `"Triggered"`,
				"actions_on_resolve.0.subject": `"Automated notification"`, "actions_on_resolve.0.body": `"Resolved"`,
			} {
				require.JSONEq(t, want, values[field], field)
			}
			require.Contains(t, values["actions.1.parameters"], `"n":5,"plain":true,"events":[{`)
			require.Len(t, failed, 2)
			require.EqualValues(t, 2, failed["actions.2.payload"].GetLine())
			require.Contains(t, failed["actions.2.payload"].GetError(), "line 2")
			require.Contains(t, failed["actions.1.singleton.key"].GetError(), "The key is empty")
		})
	}
	require.Len(t, d.eventually("orch.automation.triggered", 1), 1, "a preview has no effect")
}

func TestAPreviewRefusesWhatItCannotRender(t *testing.T) {
	d := newDomain(t)
	const automation = `"automation":{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["x"]},"actions":[{"type":"send-email-notification","emails":["a@b.c"],"body":%q}]}`
	const event = `"event":{"event":"x","resource":{"orch.resource.id":"y"},"occurred":"2026-03-01T12:00:00Z","id":"018f5e2a-6f5c-7c1e-9d55-4b1f2a3c4d5e"}`
	for name, c := range map[string]struct {
		query  string
		status int32
		text   string
	}{
		"no automation":                  {`{` + event + `}`, 422, "either automation_id or automation is required"},
		"no event":                       {`{` + fmt.Sprintf(automation, "x") + `}`, 422, "either event_id or event is required"},
		"two events":                     {`{` + fmt.Sprintf(automation, "x") + `,"event_id":"018f5e2a-6f5c-7c1e-9d55-4b1f2a3c4d5e",` + event + `}`, 422, "exclude each other"},
		"an event that is not stored":    {`{` + fmt.Sprintf(automation, "x") + `,"event_id":"018f5e2a-6f5c-7c1e-9d55-4b1f2a3c4d5e"}`, 404, ""},
		"an unknown automation":          {`{"automation_id":"018f5e2a-6f5c-7c1e-9d55-4b1f2a3c4d5e",` + event + `}`, 404, ""},
		"a template that does not parse": {`{` + fmt.Sprintf(automation, "fine\n{{ nothing") + `,` + event + `}`, 422, "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.preview(c.query)
			require.Equal(t, c.status, rpc.HTTPError(err).GetStatus(), "%v", err)
			require.Contains(t, fmt.Sprint(rpc.HTTPError(err)), c.text)
		})
	}
}
