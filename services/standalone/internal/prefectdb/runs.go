package prefectdb

import (
	"context"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// result is the artifact with the data of a state, and its join.
var (
	result     = column{"a", "data"}
	resultJoin = join{"a", "artifact", "id", column{"s", "result_artifact_id"}}
)

func runs() []Kind {
	return []Kind{
		{
			Name: "flow runs", table: "flow_run", resource: &orchv1.FlowRun{}, create: &orchv1.FlowRunCreate{}, state: "state",
			columns: map[string]column{"work_pool_id": {"q", "work_pool_id"}, "work_pool_name": {"w", "name"}},
			joins: []join{
				{"s", "flow_run_state", "id", column{"t", "state_id"}},
				resultJoin,
				{"q", "work_queue", "id", column{"t", "work_queue_id"}},
				{"w", "work_pool", "id", column{"q", "work_pool_id"}},
			},
			extra: []column{result},
			begin: always(func(m Resource, extra []value) (Resource, error) {
				run, ok := m.(*orchv1.FlowRun)
				if !ok {
					return m, nil
				}
				return run, complete(run.GetState(), extra[0])
			}),
		},
		states("flow run states", "flow_run_state", "flow_run_id", func(run string, state *orchv1.State) Resource {
			return &orchv1.FlowRunStateRecord{Id: state.GetId(), FlowRunId: run, Timestamp: state.GetTimestamp(), State: state}
		}),
		{Name: "flow run inputs", table: "flow_run_input", resource: &orchv1.FlowRunInput{}, create: &orchv1.FlowRunInputCreate{}},
		{
			Name: "task runs", table: "task_run", resource: &orchv1.TaskRun{}, create: &orchv1.TaskRunCreate{}, state: "state",
			joins: []join{
				{"s", "task_run_state", "id", column{"t", "state_id"}},
				resultJoin,
				{"r", "flow_run", "id", column{"t", "flow_run_id"}},
			},
			extra: []column{result, {"r", "flow_id"}, {"r", "deployment_id"}},
			begin: always(func(m Resource, extra []value) (Resource, error) {
				run, ok := m.(*orchv1.TaskRun)
				if !ok {
					return m, nil
				}
				if flow := extra[1]; !flow.null {
					run.FlowId = &flow.text
				}
				if deployment := extra[2]; !deployment.null {
					run.DeploymentId = &deployment.text
				}
				return run, complete(run.GetState(), extra[0])
			}),
		},
		states("task run states", "task_run_state", "task_run_id", func(run string, state *orchv1.State) Resource {
			return &orchv1.TaskRunStateRecord{Id: state.GetId(), TaskRunId: run, Timestamp: state.GetTimestamp(), State: state}
		}),
	}
}

// states is a kind of histories.
func states(name, table, run string, record func(run string, state *orchv1.State) Resource) Kind {
	withResult := resultJoin
	withResult.to.alias = "t"
	return Kind{
		Name: name, table: table, resource: &orchv1.State{}, create: &orchv1.StateCreate{}, joins: []join{withResult}, extra: []column{result, {"t", run}},
		begin: always(func(m Resource, extra []value) (Resource, error) {
			state, ok := m.(*orchv1.State)
			if !ok {
				return m, nil
			}
			return record(extra[1].text, state), complete(state, extra[0])
		}),
	}
}

// always begins with a function that needs nothing.
func always(f finish) func(context.Context, *Source) (finish, error) {
	return func(context.Context, *Source) (finish, error) { return f, nil }
}

// complete gives a state its data, which may be those of an artifact.
func complete(state *orchv1.State, result value) (err error) {
	if state == nil {
		return nil
	}
	if state.StateDetails == nil {
		state.StateDetails = &orchv1.StateDetails{}
	}
	if !falsy(state.GetData()) {
		return nil
	}
	state.Data = nil
	if !result.null && result.text != "null" {
		state.Data, err = restjson.Compact([]byte(result.text))
	}
	return err
}
