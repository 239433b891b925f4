package automations

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// A workspace at its bound may not create an automation, nor enlarge one. It may shrink one, and other workspaces are not affected.
func TestAutomationsOfAWorkspaceAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	db := storetest.Embedded(t, clock.System{})
	s, ws := New(db, vocabulary.Orch, outbox.Flusher{}, nil, nil, nil), uuid.New()
	trigger := func() *orchv1.Trigger {
		return &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{Expect: []string{"e"}, Threshold: 1, Posture: orchv1.Posture_POSTURE_REACTIVE}}}
	}
	create := func(ws uuid.UUID, bytes int) (*orchv1.Automation, error) {
		return s.CreateAutomation(requesttest.Incoming(t, ws), &orchv1.CreateAutomationRequest{Automation: &orchv1.AutomationCreate{
			Name: "a", Description: strings.Repeat("x", bytes), Trigger: trigger(),
		}})
	}
	var last *orchv1.Automation
	testkit.FillBound(t, "automations of a workspace", maxAutomationsBytes, func() bool {
		made, err := create(ws, 1_000_000)
		if err == nil {
			last = made
			return false
		}
		require.EqualValues(t, 422, rpc.HTTPError(err).GetStatus())
		return true
	}, func() int {
		n, err := db.Bytes(t.Context(), query.Automation, ws, 1<<40)
		require.NoError(t, err)
		return int(n)
	})
	_, err := create(uuid.New(), 1_000_000)
	require.NoError(t, err)
	small, err := create(ws, 10)
	require.NoError(t, err)
	update := func(id string, bytes int) error {
		_, err := s.UpdateAutomation(requesttest.Incoming(t, ws), &orchv1.UpdateAutomationRequest{
			Id: id, Automation: &orchv1.AutomationUpdate{Name: "a", Description: strings.Repeat("x", bytes), Trigger: trigger()},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "description", "trigger", "actions"}},
		})
		return err
	}
	require.EqualValues(t, 422, rpc.HTTPError(update(small.GetId(), 1_000_000)).GetStatus())
	require.NoError(t, update(last.GetId(), 10))
	require.NoError(t, update(small.GetId(), 500_000))
}
