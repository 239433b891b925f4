package trigger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// counting counts the reads of a backend.
type counting struct {
	*trigger.Memory
	loads int
}

func (c *counting) Load(ctx context.Context, ws uuid.UUID, ids []uuid.UUID) ([]*trigger.Record, error) {
	c.loads++
	return c.Memory.Load(ctx, ws, ids)
}

// A session reads buckets together, once: new ones and those of keys that are refused too.
func TestASessionReadsAbsentBucketsOnce(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	a, err := trigger.Compile(ws, &orchv1.Automation{
		Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
			Id: uuid.NewString(), Expect: []string{"go"}, ForEach: []string{"orch.resource.id"}, Threshold: 1, Posture: orchv1.Posture_POSTURE_REACTIVE,
		}}},
	}, vocabulary.Orch)
	require.NoError(t, err)
	backend := &counting{Memory: trigger.NewMemory()}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := trigger.NewSession(backend, at)
	admitted := 0
	s.AdmitKeys(func(*trigger.Node) bool { admitted++; return admitted <= 3 })
	var events []*orchv1.ReceivedEvent
	for i := range 20 {
		events = append(events, &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "go", Occurred: timestamppb.New(at),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": fmt.Sprint(i % 10)}},
		})
	}
	require.NoError(t, s.Preload(t.Context(), ws, events, func(*orchv1.ReceivedEvent) []*trigger.Node { return a.Leaves }))
	for _, e := range events {
		require.NoError(t, s.Event(t.Context(), a.Leaves[0], e))
	}
	require.Equal(t, 1, backend.loads)
	require.NoError(t, s.Commit(t.Context()))
	require.Len(t, backend.Firings, 6, "two events of each admitted key")
}
