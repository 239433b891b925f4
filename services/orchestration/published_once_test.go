package orchestration_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// publishedOf returns the names of the events about a resource, oldest first, once one of the last name is there. Events of a document are published in order, so none before the last one is still to come.
func (d *domain) publishedOf(resource, last string) []string {
	d.t.Helper()
	var names []string
	eventually(d.t, func() bool {
		names = nil
		for _, e := range d.events(&orchv1.EventFilter{Resource: &orchv1.EventResourceFilter{
			Id: &orchv1.StringList{Values: []string{resource}},
		}}).GetEvents() {
			names = append(names, e.GetEvent())
		}
		slices.Reverse(names)
		return slices.Contains(names, last)
	}, last)
	return names
}

// The SDK sends events of its artifacts since 3.4.15. The server publishes the events of other artifacts, and no event comes twice.
func TestArtifactsThatClientsPublishHaveOneEvent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for agent, want := range map[string][]string{
		"curl/8":                       {"orch.artifact.created", "orch.artifact.updated", "orch.artifact.deleted"},
		"prefect/3.4.14 (API 0.8.4)":   {"orch.artifact.created", "orch.artifact.updated", "orch.artifact.deleted"},
		"prefect/3.4.15 (API 0.8.4)":   {"orch.artifact.deleted"},
		newClient:                      {"orch.artifact.deleted"},
		"prefect/4.0.0rc1 (API 0.8.4)": {"orch.artifact.deleted"},
	} {
		artifact := callAs[*orchv1.Artifact](d.by(agent), d, orchv1.ArtifactService_CreateArtifact_FullMethodName,
			&orchv1.CreateArtifactRequest{Artifact: &orchv1.ArtifactCreate{Data: []byte(`1`)}})
		update := &orchv1.ArtifactUpdate{Data: []byte(`2`)}
		callAs[proto.Message](d.by(agent), d, orchv1.ArtifactService_UpdateArtifact_FullMethodName,
			&orchv1.UpdateArtifactRequest{Id: artifact.GetId(), Artifact: update, UpdateMask: sentFields(update)})
		d.deleteArtifact(artifact)
		require.Equal(t, want, d.publishedOf("orch.artifact."+artifact.GetId(), "orch.artifact.deleted"), agent)
	}
}

// The SDK sends the events of its task runs, also of the few that it makes by a call: deferred ones.
func TestTaskRunsThatClientsPublishHaveOneEvent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for agent, want := range map[string][]string{
		"curl/8":  {"orch.task-run.Scheduled", "orch.task-run.Pending", "orch.task-run.Failed"},
		newClient: {"orch.task-run.Failed"},
	} {
		run := callAs[*orchv1.TaskRun](d.by(agent), d, orchv1.TaskRunService_CreateTaskRun_FullMethodName,
			&orchv1.CreateTaskRunRequest{TaskRun: &orchv1.TaskRunCreate{TaskKey: "task", DynamicKey: agent, State: to(stateScheduled)}})
		callAs[*orchv1.OrchestrationResult](d.by(agent), d, orchv1.TaskRunService_SetTaskRunState_FullMethodName,
			&orchv1.SetTaskRunStateRequest{Id: run.GetId(), Transition: &orchv1.TaskRunTransition{State: to(stPending)}})
		d.setTask(run, to(stFailed))
		require.Equal(t, want, d.publishedOf("orch.task-run."+run.GetId(), "orch.task-run.Failed"), agent)
	}
}

// Events of a flow run in another name the flow run; the task run that stands for it only copies its states.
func TestSubflowsArePublishedOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("parent")
	standsFor := d.task(d.run(flow), "0")
	child := d.run(flow, func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId = new(standsFor.GetId()) })
	d.setState(child, stateRunning)
	d.setState(child, stateCompleted)
	eventually(t, func() bool { return d.readTask(standsFor.GetId()).GetState().GetName() == "Completed" }, "the copy")
	d.setTask(standsFor, to(stFailed))
	require.Equal(t, []string{"orch.task-run.Pending", "orch.task-run.Failed"}, d.publishedOf("orch.task-run."+standsFor.GetId(), "orch.task-run.Failed"))
}
