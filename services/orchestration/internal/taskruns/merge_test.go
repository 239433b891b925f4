package taskruns

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/taskrunevents"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// telling is an event of a client about a task run.
func telling(run, flowRun string, at time.Time, state, fields string) *orchv1.ReceivedEvent {
	v := vocabulary.Orch
	e := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: v.Name("task-run", state), Occurred: timestamppb.New(at), Received: timestamppb.New(at),
		Resource: &orchv1.Resource{Labels: map[string]string{
			v.ResourceID(): v.Name("task-run", run), v.Name("orchestration"): "client",
		}},
		Payload: fmt.Appendf(nil, `{"intended": {}, "validated_state": {"type": %q, "name": null, "state_details": {}, "data": null}, "task_run": {%s}}`,
			state, fields),
	}
	if flowRun != "" {
		e.Related = []*orchv1.RelatedResource{{Labels: map[string]string{
			v.ResourceID(): v.Name("flow-run", flowRun), v.ResourceRole(): "flow-run",
		}}}
	}
	return e
}

// drawnKeys are the keys of the runs that events are drawn for.
const drawnKeys = `"task_key": "t", "dynamic_key": "0"`

// drawFields draws what an event says of its run besides its keys: any part of what can be said.
func drawFields(t *rapid.T) string {
	n := rapid.IntRange(0, 3)
	text := drawnKeys
	for _, field := range []struct {
		name  string
		value func(int) string
	}{
		{"name", func(n int) string { return fmt.Sprintf(`"run-%d"`, n) }},
		{"cache_key", func(n int) string { return fmt.Sprintf(`"key-%d"`, n) }},
		{"task_version", func(n int) string { return fmt.Sprintf(`"v%d"`, n) }},
		{"empirical_policy", func(n int) string { return fmt.Sprintf(`{"retries": %d, "retry_delay": [%d]}`, n, n) }},
		{"tags", func(n int) string { return []string{`[]`, `["a"]`, `["a", "b"]`, `["c"]`}[n] }},
		{"labels", func(n int) string { return []string{`{}`, `{"a": 1}`, `{"a": "x", "b": true}`, `{"c": 1.5}`}[n] }},
		{"task_inputs", func(n int) string {
			return []string{`{}`, `{"x": []}`, `{"x": [{"input_type": "parameter", "name": "p"}]}`, `{"y": []}`}[n]
		}},
		{"run_count", func(n int) string { return fmt.Sprint(n) }},
		{"flow_run_run_count", func(n int) string { return fmt.Sprint(n) }},
		{"expected_start_time", func(n int) string { return fmt.Sprintf(`"2026-11-22T11:00:0%dZ"`, n) }},
		{"next_scheduled_start_time", func(n int) string { return fmt.Sprintf(`"2026-11-22T11:00:0%dZ"`, n) }},
		{"start_time", func(n int) string { return fmt.Sprintf(`"2026-11-22T11:00:0%d.5Z"`, n) }},
		{"end_time", func(n int) string { return fmt.Sprintf(`"2026-11-22T11:00:0%d.7Z"`, n) }},
		{"total_run_time", func(n int) string { return fmt.Sprintf(`%d.25`, n) }},
	} {
		switch rapid.IntRange(0, 3).Draw(t, field.name+" there") {
		case 0:
		case 1:
			if field.name == "cache_key" || field.name == "start_time" {
				text += fmt.Sprintf(`, %q: null`, field.name)
			}
		default:
			text += fmt.Sprintf(`, %q: %s`, field.name, field.value(n.Draw(t, field.name)))
		}
	}
	return text
}

// drawPublished draws the events of one run, in the order of its states.
func drawPublished(t *rapid.T, run, flowRun string) []*orchv1.ReceivedEvent {
	var published []*orchv1.ReceivedEvent
	at := noon
	for i := range rapid.IntRange(1, 7).Draw(t, "events") {
		at = at.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "microseconds")) * time.Microsecond)
		state := rapid.SampledFrom([]string{"PENDING", "RUNNING", "COMPLETED", "FAILED", "SCHEDULED"}).Draw(t, "state")
		if i == 0 {
			published = append(published, telling(run, flowRun, at, state, `"name": "first", `+drawnKeys))
			continue
		}
		published = append(published, telling(run, flowRun, at, state, drawFields(t)))
	}
	return published
}

func merged(t require.TestingT, run *orchv1.TaskRun, published []*orchv1.ReceivedEvent) *orchv1.TaskRun {
	for _, e := range published {
		r, err := readRecorded(vocabulary.Orch, e)
		require.NoError(t, err)
		merge(run, r)
	}
	return run
}

// Of any events of a run, in any order and each any number of times, the same run is made; and it is the one that is
// made when each event only overwrites what the one before left.
func TestMergeIsBlindToOrderAndRepetition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		published := drawPublished(t, uuid.NewString(), uuid.NewString())
		ordered := merged(t, &orchv1.TaskRun{}, published)
		delivered := rapid.Permutation(append(append([]*orchv1.ReceivedEvent(nil), published...), published...)).Draw(t, "delivered")
		shuffled := merged(t, &orchv1.TaskRun{}, delivered)
		require.Empty(t, cmp.Diff(ordered, shuffled, protocmp.Transform()))

		plain := &orchv1.TaskRun{}
		for _, e := range published {
			r, err := readRecorded(vocabulary.Orch, e)
			require.NoError(t, err)
			for _, fd := range taskrunevents.Fields {
				if r.carried[fd.Name()] {
					assign(plain.ProtoReflect(), r.run.ProtoReflect(), fd)
				}
			}
			plain.State = r.state
		}
		plain.SortStart, plain.FieldTimes = sortStart(plain), ordered.GetFieldTimes()
		require.Empty(t, cmp.Diff(plain, ordered, protocmp.Transform()))
	})
}

// The ids distinguish two states of one moment, which clients make in the order of time.
func TestMergeOfOneMoment(t *testing.T) {
	t.Parallel()
	first, second := telling(uuid.NewString(), "", noon, "RUNNING", drawnKeys), telling(uuid.NewString(), "", noon, "COMPLETED", drawnKeys)
	first.Id, second.Id = "01a1fc32-161b-7cc4-a4b1-0d4f39914e7b", "01a1fc32-161c-7cc4-a4b1-0d4f39914e7b"
	require.Equal(t, "Completed", merged(t, &orchv1.TaskRun{}, []*orchv1.ReceivedEvent{first, second}).GetState().GetName())
	require.Equal(t, "Completed", merged(t, &orchv1.TaskRun{}, []*orchv1.ReceivedEvent{second, first}).GetState().GetName())
}
