package orchestration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// eventType waits for the event type of a name.
func (d *domain) eventType(name string) *orchv1.EventType {
	d.t.Helper()
	var found []*orchv1.EventType
	eventually(d.t, func() bool {
		found = call[*orchv1.EventTypeList](d, orchv1.EventTypeService_ReadEventTypes_FullMethodName, &orchv1.ReadEventTypesRequest{Query: &orchv1.EventTypeQuery{
			EventTypes: &orchv1.EventTypeFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{name}}}},
		}}).GetEventTypes()
		return len(found) == 1
	}, name)
	return found[0]
}

func TestAnAutomationFiresForAnEventThatViolatesItsSchema(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	satisfying := func(e *orchv1.Event) { e.Payload = []byte(`{"total":1}`) }
	d.emit("order.paid", "order.1", satisfying)
	id := d.eventType("order.paid").GetId()
	call[*orchv1.EventType](d, orchv1.EventTypeService_PinEventType_FullMethodName, &orchv1.PinEventTypeRequest{
		Id: id, Pin: &orchv1.EventTypePin{Schema: []byte(`{"required":["total"]}`)},
	})
	d.automation(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["order.*"],
		"match_related":{"orch.resource.role":"violated-schema"}},"actions":[{"type":"do-nothing"}]}`)
	d.emit("order.paid", "order.2", satisfying)
	violating := d.emit("order.paid", "order.3")

	triggered := d.eventually("orch.automation.triggered", 1)
	require.Len(t, triggered, 1)
	require.Equal(t, "orch.event."+violating, triggered[0].GetRelated()[0].GetLabels()["orch.resource.id"])
	eventually(t, func() bool { return d.eventType("order.paid").GetViolations() == 1 }, "the stored event has its mark")
	for _, event := range d.eventually("order.paid", 3) {
		require.Len(t, event.GetRelated(), map[bool]int{true: 1}[event.GetId() == violating])
	}
}

// A dry run shows the event as it would be stored, with the mark of a violation, and stores nothing.
func TestADryRunChecksPinnedSchemas(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.emit("order.paid", "order.1", func(e *orchv1.Event) { e.Payload = []byte(`{"total":1}`) })
	id := d.eventType("order.paid").GetId()
	call[*orchv1.EventType](d, orchv1.EventTypeService_PinEventType_FullMethodName, &orchv1.PinEventTypeRequest{
		Id: id, Pin: &orchv1.EventTypePin{Schema: []byte(`{"required":["total"]}`)},
	})
	w := d.eventWebhook()
	render := func(name, payload string) string {
		return string(call[*orchv1.WebhookRendering](d, orchv1.WebhookService_RenderWebhook_FullMethodName, &orchv1.RenderWebhookRequest{Draft: &orchv1.WebhookDraft{
			WebhookId: proto.String(w.GetId()), Method: "POST", Body: []byte(payload),
			Template: `{"event": "` + name + `", "resource": {"orch.resource.id": "r"}, "payload": {{ body | tojson }}}`,
		}}).GetEvent())
	}
	require.Contains(t, render("order.paid", `{}`), `"orch.event-type.`+id+`"`)
	require.NotContains(t, render("order.paid", `{"total":2}`), "violated-schema")
	require.NotContains(t, render("order.lost", `{}`), "violated-schema")
	require.Zero(t, d.countText("event_type", "name", "order.lost"))
	require.Equal(t, int64(1), d.countText("event", "event", "order.paid"))
}
