package web

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// consoleCases are the pages of webhooks, events and traces.
func consoleCases() []pageCase {
	tried := objectAnswers()
	tried[orchv1.AutomationService_EvaluateAutomation_FullMethodName] = &orchv1.AutomationEvaluation{
		Events: 40_212, Matched: 57, StoppedBy: proto.String("firings"), LastEventId: proto.String(someID),
		Firings: []*orchv1.AutomationEvaluationFiring{
			{Triggered: at(time.Hour), Reason: "1 event of " + hostile, EventId: proto.String(someID), Event: proto.String(hostile)}, {Triggered: at(time.Minute), Reason: "no event"},
		},
	}
	tried[orchv1.AutomationService_PreviewAutomation_FullMethodName] = &orchv1.AutomationPreview{EventId: proto.String(someID), Renderings: []*orchv1.AutomationRendering{
		{Field: "actions.0.subject", Value: []byte(`"of \u003cb\u003e\nfailed"`)},
		{Field: "actions.1.parameters", Value: []byte(`{"day": 5}`)},
		{Field: "actions_on_resolve.0.body", Error: proto.String("Syntax error at line 2, column 4: " + hostile), Line: proto.Int64(2), Column: proto.Int64(4)},
	}}
	const webhook, delivery = "/webhooks/webhook/" + someID, "/webhooks/webhook/" + someID + "/deliveries/" + someID
	refusedName := console()
	refusedName[orchv1.WebhookService_CreateWebhook_FullMethodName] = rpc.Invalid(rpc.BodyError("string_too_long", "String should have at most 1024 characters", "name"))
	large := console()
	large[orchv1.WebhookService_ReadDelivery_FullMethodName] = largeDelivery()
	benchError, replayAway, responded, responseFailed := console(), console(), console(), console()
	answered := failedDelivery()
	answered.Status, answered.Error, answered.Rendered, answered.Reason = 201, nil, nil, nil
	answered.Response = &orchv1.WebhookRenderedResponse{Status: 201, Headers: map[string]string{"Content-Type": "text/xml", "X-Note": hostile}, Body: "<r>" + hostile + "</r>"}
	responded[orchv1.WebhookService_ReadDelivery_FullMethodName] = answered
	responseFailed[orchv1.WebhookService_RenderDelivery_FullMethodName] = &orchv1.WebhookRendering{
		Rendered: proto.String(`{"event": "github.push"}`), Event: []byte(`{"event": "github.push"}`),
		Response: &orchv1.WebhookRenderedResponse{Status: 204, Error: &orchv1.WebhookRenderingError{
			Message: "body: 'ref' is undefined " + hostile, Stage: orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_RESPONSE, Line: proto.Int64(2),
		}},
	}
	benchError[orchv1.WebhookService_RenderDelivery_FullMethodName] = &orchv1.WebhookRendering{Error: &orchv1.WebhookRenderingError{
		Message: "'ref' is undefined " + hostile, Stage: orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_TEMPLATE,
		Line: proto.Int64(2), Column: proto.Int64(9),
	}}
	sampleTaken := console()
	sampleTaken[orchv1.WebhookService_CreateWebhookSample_FullMethodName] = rpc.Detail(409, "Another sample of the webhook has this name")
	replayAway[orchv1.WebhookService_ReplayDeliveries_FullMethodName] = rpc.Detail(503, "The broker is away.")
	const event = "/events/event/2030-01-31/" + someID
	const eventType = "/events/types/type/" + someID
	return []pageCase{
		{name: "webhooks", path: "/webhooks", answers: console()},
		{name: "webhooks-none", path: "/webhooks", answers: answers{orchv1.WebhookService_ReadWebhooks_FullMethodName: &orchv1.WebhookList{}}},
		{name: "webhooks-bad", path: "/webhooks?offset=-1", status: 400},
		{name: "webhook-new", path: "/webhooks/new", answers: console()},
		{name: "webhook-new-preset", path: "/webhooks/new?preset=slack", answers: console()},
		{name: "webhook-new-bad-preset", path: "/webhooks/new?preset=nobody", status: 400, answers: console()},
		{name: "webhook-new-refused", path: "/webhooks/new", status: 422, answers: refusedName, form: url.Values{
			"action": {"webhook-create"}, "name": {hostile}, "template": {"{{ body }}\r\n"}, "scheme": {"github"}, "secrets": {"one\r\ntwo"},
		}},
		{name: "webhook", path: webhook, answers: console()},
		{name: "webhook-filtered", path: webhook + "?status=400&reason=event&replayed=no&address=show&n=1&from=-30d", answers: console()},
		{name: "webhook-bad-status", path: webhook + "?status=700", status: 400},
		{name: "webhook-bad-reason", path: webhook + "?reason=weather", status: 400},
		{name: "webhook-unknown", path: webhook, status: 404},
		{name: "webhook-search", path: webhook + "?text=Ada+%3Cb%3E&reason=event", answers: console()},
		{name: "webhook-search-delete", path: webhook + "?text=Ada+%3Cb%3E", answers: console(), form: url.Values{"action": {"deliveries-delete"}}},
		{name: "webhook-search-deleted", path: webhook + "?text=Ada+%3Cb%3E", status: 303, answers: console(), form: url.Values{"action": {"deliveries-delete"}, "confirm": {"yes"}}},
		{name: "webhook-rotate", path: webhook, answers: console(), form: url.Values{"action": {"webhook-rotate"}}},
		{name: "webhook-edit", path: webhook + "/edit", answers: console()},
		{name: "delivery", path: delivery, answers: console()},
		{name: "delivery-large", path: delivery, answers: large},
		{name: "delivery-unknown", path: delivery, status: 404},
		{name: "bench", path: webhook + "/bench", answers: console()},
		{name: "bench-error", path: webhook + "/bench?delivery=" + someID, answers: benchError},
		{name: "bench-check", path: webhook + "/bench", answers: console(), form: url.Values{
			"action": {"bench-check"}, "template": {"{{ " + hostile + " }}\r\n"}, "request": {"delivery:" + someID},
		}},
		{name: "bench-large", path: webhook + "/bench", answers: console(), form: url.Values{
			"action": {"bench-preview"}, "template": {strings.Repeat("{{ body }}\n", 100_000)},
		}},
		{name: "bench-preview", path: webhook + "/bench", answers: console(), form: url.Values{
			"accept": {fragmentType}, "action": {"bench-preview"}, "template": {"{{ body }}"}, "request": {"delivery:" + someID},
		}},
		{name: "bench-sample", path: webhook + "/bench?sample=" + someID, answers: console()},
		{name: "bench-sample-bad", path: webhook + "/bench?sample=1", status: 400},
		{name: "bench-sample-refused", path: webhook + "/bench", status: 409, answers: sampleTaken, form: url.Values{
			"action": {"sample-type"}, "name": {hostile}, "method": {"PUT"}, "headers": {"X-A: " + hostile + "\r\n"}, "body": {"{}"}, "request": {"sample:" + someID},
		}},
		{name: "bench-sample-delete", path: webhook + "/bench", answers: console(), form: url.Values{"action": {"sample-delete"}, "request": {"sample:" + someID}}},
		{name: "bench-empty", path: webhook + "/bench", answers: console(), status: 422, form: url.Values{"action": {"bench-preview"}}},
		{name: "bench-response", path: webhook + "/bench", answers: responseFailed},
		{name: "delivery-response", path: delivery, answers: responded},
		{name: "bench-bad", path: webhook + "/bench?delivery=1", status: 400},
		{name: "bench-unknown", path: webhook + "/bench", status: 404},
		{name: "replay", path: webhook + "/replay", answers: console()},
		{name: "replay-batch", path: webhook + "/replay?from=-1h", answers: console(), form: url.Values{"action": {"replay-range"}, "done": {"25"}, "good": {"20"}, "bad": {"5"}}},
		{name: "replay-away", path: webhook + "/replay", answers: replayAway, form: url.Values{"action": {"replay-range"}}},
		{name: "replay-confirm", path: webhook + "/replay", answers: console(), form: url.Values{"action": {"replay-selection"}, "id": {someID}}},
		{name: "replay-selection", path: webhook + "/replay", answers: console(), form: url.Values{"action": {"replay-selection"}, "id": {someID}, "confirm": {"yes"}}},
		{name: "replay-bad-position", path: webhook + "/replay?after=x", answers: console(), status: 400},
		{name: "events", path: "/events?event=github.*&resource=github", answers: console()},
		{name: "events-at", path: "/events?at=-10m", answers: console()},
		{name: "events-bad", path: "/events?n=51", status: 400},
		{name: "event", path: event, answers: console()},
		{name: "event-payload", path: event + "/payload", answers: console()},
		{name: "event-unknown", path: event, status: 404, answers: answers{orchv1.EventService_ReadEvents_FullMethodName: &orchv1.EventPage{}}},
		{name: "event-bad-day", path: "/events/event/yesterday/" + someID, status: 400},
		{name: "event-types", path: "/events/types?q=github", answers: console()},
		{name: "event-type", path: eventType, answers: console()},
		{name: "event-type-pin-bad", path: eventType, status: 422, answers: console(), form: url.Values{"action": {"event-type-pin"}, "schema": {"{" + hostile}}},
		{name: "event-type-delete", path: eventType, answers: console(), form: url.Values{"action": {"event-type-delete"}}},
		{name: "event-type-unknown", path: eventType, status: 404},
		{name: "automate", path: "/automations/new?event=github.push&resource=github", answers: console()},
		{name: "automate-template", path: "/automations/new?template=failed", answers: objectAnswers(), prefect: true},
		{name: "automate-template-bad", path: "/automations/new?template=weather", status: 400},
		{name: "automate-kind", path: "/automations/new", answers: objectAnswers(), form: url.Values{
			"action": {"automate"}, "choose-kind": {"yes"}, "p.name": {hostile}, "p.trigger/type": {`"compound"`}, "p.trigger/triggers/#": {"1"}, "p.trigger/triggers/0/type": {`"metric"`},
			"p.actions/#": {"1"}, "p.actions/0/type": {`"run-deployment"`}, "p.actions/0/deployment_id": {hostile},
		}},
		{name: "automate-refused", path: "/automations/new", status: 422, answers: objectAnswers(), form: url.Values{
			"action": {"automate"}, "p.trigger/type": {`"event"`}, "p.trigger/posture": {`"Reactive"`}, "p.trigger/match": {hostile}, "p.actions/#": {"0"},
		}},
		{name: "automate-json", path: "/automations/new", form: url.Values{
			"action": {"automate"}, "show-json": {"yes"}, "p.name": {hostile}, "p.trigger/type": {`"event"`}, "p.trigger/posture": {`"Reactive"`}, "p.trigger/every_event": {"1"}, "p.actions/#": {"0"},
		}},
		{name: "automate-try", path: "/automations/new", answers: tried, form: url.Values{
			"action": {"automate"}, "try": {"yes"}, "p.name": {"x"}, "p.trigger/type": {`"event"`}, "p.trigger/posture": {`"Reactive"`}, "p.trigger/expect": {hostile}, "p.actions/#": {"0"},
		}},
		{name: "automate-bad", path: "/automations/new", status: 422, form: url.Values{"action": {"automate"}, "json": {"[" + hostile}}},
		{name: "automate-lost", path: "/automations/new", form: url.Values{
			"action": {"automate"}, "show-form": {"yes"}, "json": {`{"name": "x", "trigger": {"type": "event", "posture": "Reactive", "</textarea>": 1}, "actions": []}`},
		}},
		{name: "trace", path: "/trace/delivery/" + someID, answers: console()},
		{name: "trace-event", path: "/trace/event/" + someID, answers: console()},
		{name: "trace-run", path: "/trace/flow-run/" + someID, answers: console()},
		{name: "trace-at", path: "/trace/event/" + someID + "?at=2030-01-31T11:50:00Z", answers: console()},
		{name: "trace-bad-kind", path: "/trace/weather/" + someID, status: 400},
		{name: "trace-unknown", path: "/trace/event/" + someID, status: 404, answers: answers{orchv1.EventService_ReadEvents_FullMethodName: &orchv1.EventPage{}}},
	}
}

// deliveryTemplate has an error at line 2, column 11 for the delivery of the tests.
const deliveryTemplate = "{\"event\": \"github.{{ headers['x-github-event'] }}\",\n \"ref\": {{ body.ref }}, \"x\": \"<b>\",\n" +
	" \"resource\": {\"orch.resource.id\": \"github\"}}\n"

func failedDelivery() *orchv1.WebhookDelivery {
	return &orchv1.WebhookDelivery{
		Id: someID, WebhookId: someID, Received: at(2 * time.Minute), Status: 400, Latency: 0.0042, Size: 31,
		Error: proto.String("the rendered text is not JSON: " + hostile), ErrorLine: proto.Int64(2), ErrorColumn: proto.Int64(9),
		RemoteAddress: proto.String("192.0.2.7"), Method: "POST", Path: "/push", Query: "a=1&b=<2>",
		Headers: map[string]string{"x-github-event": "push", "x-api-key": "***", "x-note": hostile},
		Body:    `{"ref": null, "note": "<script>"}`, Rendered: proto.String("{\"event\": \"github.push\",\n \"ref\": , \"x\": \"<b>\",\n}"),
		Reason: proto.String("event"), Count: 1,
	}
}

func largeDelivery() *orchv1.WebhookDelivery {
	d := failedDelivery()
	d.Body, d.BodyTruncated, d.Size = strings.Repeat("<x>", 85_000), true, 1<<20
	d.Rendered, d.ErrorLine = proto.String(strings.Repeat("y", 300_000)), proto.Int64(1)
	return d
}

// console are the answers of the calls about webhooks, events and traces.
func console() answers {
	failed := failedDelivery()
	again := proto.CloneOf(failed)
	again.Id, again.Received = "01890000-0000-7000-8000-000000000002", at(3*time.Minute)
	accepted := proto.CloneOf(failed)
	accepted.Id, accepted.Received, accepted.Status = "01890000-0000-7000-8000-000000000003", at(4*time.Minute), 204
	accepted.Error, accepted.ErrorLine, accepted.ErrorColumn, accepted.Rendered, accepted.Reason = nil, nil, nil, nil, nil
	accepted.Event, accepted.EventId = proto.String("github.push "+hostile), proto.String(someID)
	refused := proto.CloneOf(failed)
	refused.Id, refused.Received, refused.Status = "01890000-0000-7000-8000-000000000004", at(5*time.Minute), 401
	refused.Reason, refused.Error, refused.Count, refused.Body = proto.String("signature"), proto.String("the signature is not valid"), 120, ""
	refused.Rendered, refused.ErrorLine, refused.ErrorColumn = nil, nil, nil
	webhook := &orchv1.Webhook{
		Id: someID, Created: at(48 * time.Hour), Updated: at(24 * time.Hour), Name: "pushes " + hostile, Description: "of " + hostile,
		Enabled: true, Template: deliveryTemplate, Slug: "secret-slug", Deduplication: orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID,
		Verification: &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, Tolerance: 300, SecretCount: 2},
		Handshakes:   []orchv1.WebhookHandshake{orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SLACK},
		RateLimit:    &orchv1.WebhookRateLimit{Requests: 100, Seconds: 60}, AllowedIps: []string{"192.0.2.0/24"}, MaxSilence: proto.Int64(3600),
		Health: &orchv1.WebhookHealth{
			Status: orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING, Since: at(time.Hour), Requests: 100, Failures: 60, Reason: proto.String("event " + hostile),
		},
	}
	quiet := proto.CloneOf(webhook)
	quiet.Id, quiet.Name, quiet.Enabled = "01890000-0000-7000-8000-000000000009", "quiet", false
	replayed := proto.CloneOf(accepted)
	replayed.Id, replayed.ReplayOf, replayed.Received = "01890000-0000-7000-8000-000000000005", proto.String(someID), at(0)
	all := answers{
		orchv1.WebhookService_ListWebhookPresets_FullMethodName: &orchv1.WebhookPresetList{Presets: []*orchv1.WebhookPreset{{
			Name: "slack", Title: "Slack " + hostile, Description: "Add the URL. " + hostile, Documentation: "https://example.com/?a=<b>", Secret: "the " + hostile,
			Webhook: []byte(`{"template": "{{ body }}<b>", "verification": {"scheme": "slack"}, "handshakes": ["slack"], "deduplication": "none"}`),
		}}},
		orchv1.WebhookService_RenderDelivery_FullMethodName: &orchv1.WebhookRendering{
			Rendered: proto.String(`{"event": "github.push"}`), Event: []byte(`{"event": "github.push", "payload": {"note": "<script>"}}`),
		},
		orchv1.WebhookService_ListWebhookSamples_FullMethodName: &orchv1.WebhookSampleList{Samples: []*orchv1.WebhookSample{{
			Id: someID, WebhookId: someID, Name: "large " + hostile, Created: at(time.Hour), Method: "POST", Path: "/" + hostile,
			Headers: map[string]string{"x-a": hostile}, Body: `{"ref": "<b>"}`,
		}}},
		orchv1.WebhookService_RenderWebhookSample_FullMethodName: &orchv1.WebhookRendering{
			Rendered: proto.String(`{"event": "github.push"}`), Event: violatingPush(),
		},
		orchv1.WebhookService_ReplayDeliveries_FullMethodName: &orchv1.WebhookDeliveryList{Deliveries: []*orchv1.WebhookDelivery{replayed}},
		orchv1.EventService_ReadEvents_FullMethodName: &orchv1.EventPage{
			Events: []*orchv1.ReceivedEvent{pushed()}, Total: 12_345, NextPage: proto.String("http://orch.test/api/events/filter/next?page-token=abc"),
		},
		orchv1.EventTypeService_ReadEventTypes_FullMethodName: &orchv1.EventTypeList{EventTypes: []*orchv1.EventType{pushType()}},
		orchv1.EventTypeService_ReadEventType_FullMethodName:  pushType(),
		orchv1.EventService_CountEvents_FullMethodName: &orchv1.EventCountList{Counts: []*orchv1.EventCount{
			{Value: "github.push", Label: "github.push " + hostile, Count: 42, StartTime: at(time.Hour), EndTime: at(0)},
		}},
		orchv1.FlowRunService_ReadFlowRuns_FullMethodName: lists()[orchv1.FlowRunService_ReadFlowRuns_FullMethodName],
		orchv1.LogService_ReadLogs_FullMethodName:         &orchv1.LogList{Logs: []*orchv1.Log{{Level: 20, Message: "loaded " + hostile, Timestamp: at(time.Minute)}}},
		orchv1.WebhookService_ReadWebhooks_FullMethodName: &orchv1.WebhookList{Webhooks: []*orchv1.Webhook{quiet, webhook}},
		orchv1.WebhookService_ReadWebhook_FullMethodName:  webhook,
		orchv1.WebhookService_ReadDeliveries_FullMethodName: &orchv1.WebhookDeliveryList{
			Deliveries: []*orchv1.WebhookDelivery{failed, again, accepted, refused},
		},
		orchv1.WebhookService_SearchDeliveries_FullMethodName: &orchv1.WebhookDeliverySearchResult{
			Deliveries: []*orchv1.WebhookDelivery{failed, again, accepted, refused}, Searched: 5000, SearchedTo: at(2 * time.Hour), NextPageToken: proto.String("token"),
		},
		orchv1.WebhookService_DeleteDeliveries_FullMethodName: &orchv1.WebhookDeliveryDeletionResult{Deleted: 4, Searched: 4},
		orchv1.WebhookService_ReadDelivery_FullMethodName:     failed,
		orchv1.WebhookService_SummarizeDeliveries_FullMethodName: &orchv1.WebhookDeliverySummary{Counts: []*orchv1.WebhookDeliveryCount{
			{Status: 204, Count: 1200}, {Status: 400, Reason: proto.String("event"), Count: 2}, {Status: 401, Reason: proto.String("signature"), Count: 120},
		}},
	}
	return all
}

// pushType is an event type with a pinned schema.
func pushType() *orchv1.EventType {
	return &orchv1.EventType{
		Id: someID, Created: at(48 * time.Hour), Updated: at(24 * time.Hour), Name: "github.push " + hostile, FirstSeen: at(48 * time.Hour), LastSeen: at(0),
		Schema: []byte(`{"type": "object", "properties": {"note": {"type": "string"}}}`), Pinned: at(time.Hour),
		PinnedSchema: []byte(`{"description": "</script>", "required": ["note"]}`), Violations: 3,
	}
}

// violatingPush is an event that violates the pinned schema of pushType.
func violatingPush() []byte {
	text, err := json.Marshal(map[string]any{
		"event": pushType().GetName(), "payload": map[string]string{"sample": "<b>"}, "related": []map[string]string{pushed().GetRelated()[4].GetLabels()},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// pushed is the event of an action whose run and triggering event a trace follows.
func pushed() *orchv1.ReceivedEvent {
	related := func(id, role string) *orchv1.RelatedResource {
		return &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": id, "orch.resource.role": role}}
	}
	return &orchv1.ReceivedEvent{
		Id: someID, Occurred: at(4 * time.Minute), Received: at(4 * time.Minute), Event: "orch.automation.action.executed",
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.automation." + someID, "orch.resource.name": "ship " + hostile}},
		Related: []*orchv1.RelatedResource{
			related("orch.event."+someID, "triggering-event"), related("orch.flow-run."+someID, "flow-run"),
			related("orch-cloud.webhook."+someID, "webhook"), related("weather."+hostile, "x"),
			{Labels: map[string]string{
				"orch.resource.id": "orch.event-type." + someID, "orch.resource.role": "violated-schema", "orch.schema.path": "/" + hostile,
				"orch.schema.reason": "is of type string instead of " + hostile,
			}},
		},
		Payload: []byte(`{"action_index": 0, "action_type": "run-deployment", "note": "</script>"}`), Follows: proto.String(someID),
	}
}
