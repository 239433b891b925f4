package live_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/live"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	id    = "01890000-0000-7000-8000-000000000001"
	other = "01890000-0000-7000-8000-000000000002"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"runs": true, "events": true, "deliveries": true, "flow-run/" + id: true, "task-run/" + id: true, "webhook/" + id: true,
		"": false, "runs/": false, "runs/" + id: false, "flow-run": false, "flow-run/x": false, "weather": false, "webhook/" + id + "/x": false,
	} {
		got, ok := live.Parse(text)
		require.Equal(t, want, ok, text)
		if ok {
			require.NotEmpty(t, got.RPC())
		}
	}
}

func event(name, resource string, related ...string) *orchv1.ReceivedEvent {
	e := &orchv1.ReceivedEvent{Event: name, Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}}}
	for _, r := range related {
		e.Related = append(e.Related, &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": r}})
	}
	return e
}

func TestWatchedEvents(t *testing.T) {
	t.Parallel()
	ofRun := event("orch.flow-run.Running", "orch.flow-run."+id)
	ofTask := event("orch.task-run.Running", "orch.task-run."+id, "orch.flow-run."+id)
	ofOther := event("orch.flow-run.Running", "orch.flow-run."+other)
	ofUser := event("github.push", "github", "orch.flow-runs."+id)
	for topic, want := range map[string][4]bool{
		"runs":           {true, false, true, false},
		"events":         {true, true, true, true},
		"flow-run/" + id: {true, true, false, false},
		"task-run/" + id: {false, true, false, false},
	} {
		parsed, ok := live.Parse(topic)
		require.True(t, ok)
		watch := parsed.Watch(vocabulary.Orch)
		require.Equal(t, want, [4]bool{watch.Event(ofRun), watch.Event(ofTask), watch.Event(ofOther), watch.Event(ofUser)}, topic)
		require.Nil(t, watch.Delivery)
	}
}

func TestWatchedLogsAndDeliveries(t *testing.T) {
	t.Parallel()
	log := &orchv1.Log{FlowRunId: new(id), TaskRunId: new(other)}
	for topic, want := range map[string]bool{"flow-run/" + id: true, "flow-run/" + other: false, "task-run/" + other: true, "task-run/" + id: false} {
		parsed, ok := live.Parse(topic)
		require.True(t, ok)
		require.Equal(t, want, parsed.Watch(vocabulary.Orch).Log(log), topic)
	}
	for topic, want := range map[string]bool{"webhook/" + id: true, "webhook/" + other: false, "deliveries": true} {
		parsed, ok := live.Parse(topic)
		require.True(t, ok)
		watch := parsed.Watch(vocabulary.Orch)
		require.Equal(t, want, watch.Delivery(uuid.MustParse(id)), topic)
		require.Nil(t, watch.Event)
	}
}
