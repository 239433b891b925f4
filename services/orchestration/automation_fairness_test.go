package orchestration_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// Hundreds of notifications of one workspace hang. The automations of another one fire, and their actions are executed
// meanwhile.
func TestAWorkspaceThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	release, arrived := make(chan struct{}), make(chan struct{}, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(func() { close(release) })
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	document := d.notification("slack-webhook", fmt.Sprintf(`{"url":%q}`, receiver.URL))
	d.automation(fmt.Sprintf(`{"name":"hangs","trigger":{"type":"event","posture":"Reactive","expect":["go"]},
		"actions":[{"type":"send-notification","block_document_id":%q,"body":"x"}]}`, document))
	created := call[*orchv1.Workspace](d, orchv1.WorkspaceService_CreateWorkspace_FullMethodName,
		&orchv1.CreateWorkspaceRequest{Workspace: &orchv1.WorkspaceCreate{Name: "other"}})
	other := uuid.MustParse(created.GetId())
	_, _, err := tryIn[*orchv1.Automation](d, other, orchv1.AutomationService_CreateAutomation_FullMethodName, &orchv1.CreateAutomationRequest{
		Automation: automationOf(t, `{"name":"works","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}]}`),
	})
	require.NoError(t, err)

	goes := func(n int) *orchv1.CreateEventsRequest {
		r := &orchv1.CreateEventsRequest{}
		for range n {
			r.Events = append(r.Events, &orchv1.Event{
				Id: uuid.NewString(), Event: "go", Occurred: timestamppb.Now(),
				Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "all"}},
			})
		}
		return r
	}
	_, _, err = try[proto.Message](d, orchv1.EventService_CreateEvents_FullMethodName, goes(400))
	require.NoError(t, err)
	const fraction = 8
	for range fraction {
		<-arrived
	}
	_, _, err = tryIn[proto.Message](d, other, orchv1.EventService_CreateEvents_FullMethodName, goes(20))
	require.NoError(t, err)
	eventually(t, func() bool {
		page, _, err := tryIn[*orchv1.EventPage](d, other, orchv1.EventService_ReadEvents_FullMethodName,
			&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: named("orch.automation.action.executed"), Limit: 50}})
		require.NoError(t, err)
		return page.GetTotal() == 20
	}, "the actions of the other workspace")
}
