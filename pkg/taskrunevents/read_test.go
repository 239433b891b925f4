package taskrunevents

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const run = `"task_run":{"task_key":"k","dynamic_key":"0","name":"a"}`

func report(payload string) *orchv1.Event {
	return &orchv1.Event{
		Id: uuid.NewString(), Event: "orch.task-run.Running", Occurred: &timestamppb.Timestamp{Seconds: 9}, Payload: []byte(payload),
		Resource: &orchv1.Resource{Labels: map[string]string{
			"orch.resource.id": "orch.task-run." + uuid.NewString(), "orch.orchestration": "client",
		}},
	}
}

func TestReadRefusesWhatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		payload string
		change  func(e *orchv1.Event)
		want    string
	}{
		"a state":             {payload: `{"validated_state":{"type":"RUNNING"},` + run + `}`},
		"no payload":          {payload: `{}`, want: "its task run: task_run is missing"},
		"a list":              {payload: `[]`, want: "its payload"},
		"no state":            {payload: `{` + run + `}`, want: "its state: validated_state is missing"},
		"an unknown type":     {payload: `{"validated_state":{"type":"DREAMING"},` + run + `}`, want: "its state"},
		"no type":             {payload: `{"validated_state":{"name":"x"},` + run + `}`, want: "its state"},
		"a run without keys":  {payload: `{"validated_state":{"type":"RUNNING"},"task_run":{"name":"a"}}`, want: "its task run: its keys are missing"},
		"a run of a bad type": {payload: `{"validated_state":{"type":"RUNNING"},"task_run":{"task_key":5,"dynamic_key":"0"}}`, want: "its task run"},
		"another resource": {
			payload: `{"validated_state":{"type":"RUNNING"},` + run + `}`, want: "its resource",
			change: func(e *orchv1.Event) { e.Resource.Labels["orch.resource.id"] = "orch.flow-run.x" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := report(test.payload)
			if test.change != nil {
				test.change(e)
			}
			require.True(t, OfClient(vocabulary.Orch, e))
			r, err := Read(vocabulary.Orch, e)
			if test.want == "" {
				require.NoError(t, err)
				require.Equal(t, e.GetOccurred(), r.State.GetTimestamp())
				return
			}
			require.ErrorIs(t, err, ErrUnreadable)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestEventsOfTheServerAreNoReports(t *testing.T) {
	t.Parallel()
	e := report(`{}`)
	delete(e.Resource.Labels, "orch.orchestration")
	require.False(t, OfClient(vocabulary.Orch, e))
	e = report(`{}`)
	e.Event = "orch.flow-run.Running"
	require.False(t, OfClient(vocabulary.Orch, e))
}
