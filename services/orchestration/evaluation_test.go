package orchestration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// emit sends an event, as a client does.
func (d *domain) emit(name, resource string, change ...func(*orchv1.Event)) string {
	d.t.Helper()
	e := &orchv1.Event{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.Now(), Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}},
		Payload: []byte(`{"n":5}`),
	}
	for _, c := range change {
		c(e)
	}
	_, _, err := try[proto.Message](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: []*orchv1.Event{e}})
	require.NoError(d.t, err)
	return e.GetId()
}

// eventually waits until as many events of a name are stored.
func (d *domain) eventually(name string, n int) []*orchv1.ReceivedEvent {
	d.t.Helper()
	var page *orchv1.EventPage
	require.Eventually(d.t, func() bool {
		read, _, err := try[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{
			Filter: &orchv1.EventFilter{Event: &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{name}}}, Occurred: &orchv1.EventOccurredFilter{}, Id: &orchv1.EventIdFilter{}},
			Limit:  200,
		}})
		require.NoError(d.t, err)
		page = read
		return len(page.GetEvents()) >= n
	}, 30*time.Second, 20*time.Millisecond, name)
	return page.GetEvents()
}

func TestAnEventRunsADeployment(t *testing.T) {
	d := newDomain(t)
	deployment := d.deployment(d.flow("ship")).GetId()
	automation := d.automation(fmt.Sprintf(`{"name":"ship it","trigger":{"type":"event","posture":"Reactive","expect":["order.paid"]},
		"actions":[{"type":"run-deployment","deployment_id":%q,"parameters":{"n":"{{ event.payload.n }}","of":"order {{ event.resource.id }}"}}]}`, deployment))
	id := d.emit("order.paid", "order.1")
	d.emit("order.lost", "order.1")

	triggered := d.eventually("orch.automation.triggered", 1)
	require.Equal(t, "orch.automation."+automation.GetId(), triggered[0].GetResource().GetLabels()["orch.resource.id"])
	require.Equal(t, "orch.event."+id, triggered[0].GetRelated()[0].GetLabels()["orch.resource.id"])
	executed := d.eventually("orch.automation.action.executed", 1)
	var payload map[string]any
	require.NoError(t, json.Unmarshal(executed[0].GetPayload(), &payload))
	require.Equal(t, "run-deployment", payload["action_type"], "%s", executed[0].GetPayload())
	runs := call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}).GetFlowRuns()
	require.Len(t, runs, 1)
	require.Equal(t, deployment, runs[0].GetDeploymentId())
	require.JSONEq(t, `{"n":5,"of":"order order.1"}`, string(runs[0].GetParameters()))
	require.Equal(t, "AUTOMATION", runs[0].GetCreatedBy().GetType())
	require.Len(t, d.eventually("orch.automation.triggered", 1), 1)
}

func TestANotificationIsSentAndSilenceIsMissed(t *testing.T) {
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	document := d.notification("slack-webhook", fmt.Sprintf(`{"url":%q}`, receiver.URL+"/hook"))
	d.automation(fmt.Sprintf(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["run.failed"],"for_each":["orch.resource.id"]},
		"actions":[{"type":"send-notification","block_document_id":%q,"subject":"Failed","body":"{{ event.resource.id }} of {{ automation.name }}"}]}`, document))
	d.emit("run.failed", "run.7")
	require.JSONEq(t, `{"text":"*Failed*\nrun.7 of tell"}`, <-bodies)
	d.eventually("orch.automation.action.executed", 1)

	// A window of the past ends at once.
	d.automation(`{"name":"miss","trigger":{"type":"event","posture":"Proactive","after":["run.started"],"expect":["run.ended"],
		"for_each":["orch.resource.id"],"within":10},"actions":[{"type":"do-nothing"}]}`)
	d.emit("run.started", "run.8", func(e *orchv1.Event) { e.Occurred = timestamppb.New(time.Now().Add(-20 * time.Second)) })
	d.eventually("orch.automation.triggered", 2)
}

func TestANotificationToAPrivateAddressIsRefused(t *testing.T) {
	d := newDomain(t)
	document := d.notification("slack-webhook", `{"url":"http://127.0.0.1:1/hook"}`)
	d.automation(fmt.Sprintf(`{"name":"tell","trigger":{"type":"event","posture":"Reactive","expect":["run.failed"]},
		"actions":[{"type":"send-notification","block_document_id":%q,"body":"x"}]}`, document))
	d.emit("run.failed", "run.7")
	failed := d.eventually("orch.automation.action.failed", 1)
	require.Contains(t, string(failed[0].GetPayload()), "the address is not public")
	require.NotContains(t, string(failed[0].GetPayload()), "/hook")
}

// notification creates a block document of one of the server's own types.
func (d *domain) notification(slug, data string) string {
	d.t.Helper()
	return d.blockDocument(slug, "receiver", data)
}

func (d *domain) blockDocument(slug, name, data string) string {
	d.t.Helper()
	kind := call[*orchv1.BlockType](d, orchv1.BlockTypeService_ReadBlockTypeBySlug_FullMethodName, &orchv1.ReadBlockTypeBySlugRequest{Slug: slug})
	schemas := call[*orchv1.BlockSchemaList](d, orchv1.BlockSchemaService_ReadBlockSchemas_FullMethodName, &orchv1.ReadBlockSchemasRequest{Query: &orchv1.BlockSchemaQuery{
		BlockSchemas: &orchv1.BlockSchemaFilter{BlockTypeId: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{kind.GetId()}}}},
	}})
	return call[*orchv1.BlockDocument](d, orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName, &orchv1.CreateBlockDocumentRequest{
		BlockDocument: &orchv1.BlockDocumentCreate{
			Name: proto.String(name), BlockTypeId: kind.GetId(), BlockSchemaId: schemas.GetBlockSchemas()[0].GetId(), Data: []byte(data),
		},
	}).GetId()
}
