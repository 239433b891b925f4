package web

import (
	"maps"
	"net/url"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// flowRunAnswers are the answers of the calls of a flow run's pages.
func flowRunAnswers() answers {
	all := lists()
	run := all[orchv1.FlowRunService_ReadFlowRuns_FullMethodName].(*orchv1.FlowRunList).GetFlowRuns()[0]
	logs := &orchv1.LogList{}
	for i, level := range []int64{20, 30, 40, 50, 10} {
		logs.Logs = append(logs.Logs, &orchv1.Log{
			Id: someID, Level: level, Name: "flow_runs", Message: "line " + hostile + "\n\tat load.py:41", Timestamp: at(time.Duration(10-i) * time.Minute),
			FlowRunId: proto.String(someID), TaskRunId: proto.String(someID),
		})
	}
	graph := &orchv1.Graph{}
	for i, state := range []orchv1.StateType{orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_RUNNING} {
		node := &orchv1.GraphNode{
			Kind: orchv1.GraphNodeKind_GRAPH_NODE_KIND_TASK_RUN, Id: someID, Label: "load-" + hostile, StateType: state,
			StartTime: at(time.Duration(60-20*i) * time.Minute),
		}
		if state != orchv1.StateType_STATE_TYPE_RUNNING {
			node.EndTime = at(time.Duration(58-20*i) * time.Minute)
		}
		graph.Nodes = append(graph.Nodes, &orchv1.GraphEntry{Id: someID, Node: node})
	}
	states := &orchv1.StateList{States: []*orchv1.State{
		{Id: someID, Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Name: proto.String("Late"), Timestamp: at(time.Hour)},
		{Id: someID, Type: orchv1.StateType_STATE_TYPE_RUNNING, Name: proto.String("Running"), Timestamp: at(30 * time.Minute)},
		run.GetState(),
	}}
	task := &orchv1.TaskRun{
		Id: someID, Name: "load-0 " + hostile, FlowRunId: proto.String(someID), TaskKey: "load", DynamicKey: "0", StateType: run.StateType, StateName: run.StateName,
		State: run.GetState(), RunCount: 2, StartTime: at(10 * time.Minute), ExpectedStartTime: at(10 * time.Minute), EndTime: at(time.Minute),
		EstimatedRunTime: 0.42, TotalRunTime: 0.42, Created: at(time.Hour), Updated: at(time.Minute),
		TaskInputs: map[string]*orchv1.TaskInputList{
			"rows " + hostile: {Values: []*orchv1.TaskInput{
				{Kind: &orchv1.TaskInput_TaskRun{TaskRun: &orchv1.TaskInputTaskRun{Id: someID}}},
				{Kind: &orchv1.TaskInput_FlowRun{FlowRun: &orchv1.TaskInputFlowRun{Id: someID}}},
			}},
			"limit": {Values: []*orchv1.TaskInput{{Kind: &orchv1.TaskInput_Parameter{Parameter: &orchv1.TaskInputParameter{Name: hostile}}}}},
			"mode":  {Values: []*orchv1.TaskInput{{Kind: &orchv1.TaskInput_Constant{Constant: &orchv1.TaskInputConstant{Type: hostile}}}}},
		},
	}
	maps.Copy(all, answers{
		orchv1.FlowRunService_ReadFlowRun_FullMethodName:             run,
		orchv1.FlowService_ReadFlow_FullMethodName:                   &orchv1.Flow{Id: someID, Name: "nightly-sync"},
		orchv1.DeploymentService_ReadDeployment_FullMethodName:       &orchv1.Deployment{Id: someID, FlowId: someID, Name: "prod"},
		orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName: graph,
		orchv1.LogService_ReadLogs_FullMethodName:                    logs,
		orchv1.TaskRunService_ReadTaskRuns_FullMethodName:            &orchv1.TaskRunList{TaskRuns: []*orchv1.TaskRun{task}},
		orchv1.TaskRunService_ReadTaskRun_FullMethodName:             task,
		orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName:  states,
		orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName:  states,
		orchv1.ArtifactService_ReadArtifacts_FullMethodName: &orchv1.ArtifactList{Artifacts: []*orchv1.Artifact{{
			Id: someID, Key: proto.String("report"), Type: proto.String("markdown"), Description: proto.String(hostile), Created: at(time.Minute),
		}}},
		orchv1.EventService_ReadEvents_FullMethodName: &orchv1.EventPage{Total: 1, Events: []*orchv1.ReceivedEvent{{
			Id: someID, Event: "orch.flow-run.Failed", Occurred: at(time.Minute),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.flow-run." + someID, "orch.resource.name": hostile}},
		}}},
	})
	return all
}

// endedRun are the answers for a run that failed a day ago. One of its tasks had not begun, and one had not ended.
func endedRun() answers {
	all := flowRunAnswers()
	run := proto.CloneOf(all[orchv1.FlowRunService_ReadFlowRun_FullMethodName].(*orchv1.FlowRun))
	const day = 24 * time.Hour
	run.StartTime, run.ExpectedStartTime, run.EndTime, run.State.Timestamp = at(day+20*time.Second), at(day+21*time.Second), at(day), at(day)
	graph := &orchv1.Graph{}
	for i, state := range []orchv1.StateType{orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_PENDING} {
		id := someID[:len(someID)-1] + string(rune('a'+i))
		graph.Nodes = append(graph.Nodes, &orchv1.GraphEntry{Id: id, Node: &orchv1.GraphNode{
			Kind: orchv1.GraphNodeKind_GRAPH_NODE_KIND_TASK_RUN, Id: id, Label: []string{"fetch-1", "watch-2", "load-3"}[i], StateType: state,
			StartTime: at(day + 18*time.Second),
		}})
	}
	graph.Nodes[0].Node.EndTime = at(day + time.Second)
	graph.Nodes[2].Node.Parents = []*orchv1.GraphEdge{{Id: graph.Nodes[0].GetId()}}
	graph.Nodes = append(graph.Nodes, &orchv1.GraphEntry{Id: someID, Node: &orchv1.GraphNode{
		Kind: orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN, Id: someID, Label: "check / calm-otter", StateType: orchv1.StateType_STATE_TYPE_COMPLETED,
		StartTime: at(day + 17*time.Second), EndTime: at(day + 5*time.Second),
	}})
	logs := &orchv1.LogList{Logs: []*orchv1.Log{{
		Id: someID, Level: 40, Name: "task_runs", Timestamp: at(day), FlowRunId: proto.String(someID), TaskRunId: proto.String(graph.Nodes[0].GetId()),
		Message: "Task run failed\nTraceback (most recent call last):\n  File \"/srv/etl.py\", line 42, in fetch\n    raise " + hostile +
			"\n  File \"/usr/lib/python3/site-packages/httpx.py\", line 7, in get\n    send()\nhttpx.ConnectError: " + hostile,
	}}}
	retried := graph.Nodes[0].GetId()
	states := &orchv1.StateList{}
	for i, state := range []orchv1.StateType{
		orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_SCHEDULED,
		orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_FAILED,
	} {
		states.States = append(states.States, &orchv1.State{Id: someID, Type: state, Timestamp: at(day + time.Duration(19-4*i)*time.Second)})
	}
	completed := proto.CloneOf(run)
	completed.Id, completed.Name = retried, "calm-otter"
	completed.StateType, completed.StateName = orchv1.StateType_STATE_TYPE_COMPLETED.Enum(), proto.String("Completed")
	maps.Copy(all, answers{
		orchv1.FlowRunService_ReadFlowRun_FullMethodName:             run,
		orchv1.FlowRunService_ReadFlowRuns_FullMethodName:            &orchv1.FlowRunList{FlowRuns: []*orchv1.FlowRun{run, completed}},
		orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName: graph,
		orchv1.LogService_ReadLogs_FullMethodName:                    logs,
		orchv1.TaskRunService_ReadTaskRuns_FullMethodName:            &orchv1.TaskRunList{TaskRuns: []*orchv1.TaskRun{{Id: retried, RunCount: 2}}},
		orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName:  states,
		orchv1.EventService_ReadEvents_FullMethodName:                causedEvents(retried),
	})
	return all
}

// causedEvents are the events of an automation that a run triggered, and whose action started another run.
func causedEvents(started string) *orchv1.EventPage {
	events := &orchv1.EventPage{}
	for _, name := range []string{"triggered", "action.triggered", "action.executed"} {
		events.Events = append(events.Events, &orchv1.ReceivedEvent{
			Id: someID, Event: "orch.automation." + name, Occurred: at(24 * time.Hour), Payload: []byte(`{"action_index": 0, "action_type": "run-deployment"}`),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.automation." + someID, "orch.resource.name": "clean up " + hostile}},
			Related: []*orchv1.RelatedResource{{Labels: map[string]string{
				"orch.resource.id": "orch.flow-run." + started, "orch.resource.role": "flow-run",
			}}},
		})
	}
	return events
}

// pausedRun are the answers for a run that waits for an input with fields of several kinds.
func pausedRun() answers {
	all := flowRunAnswers()
	run := proto.CloneOf(all[orchv1.FlowRunService_ReadFlowRun_FullMethodName].(*orchv1.FlowRun))
	run.StateType, run.StateName, run.EndTime = orchv1.StateType_STATE_TYPE_PAUSED.Enum(), proto.String("Paused"), nil
	run.State = &orchv1.State{
		Id: someID, Type: run.GetStateType(), Name: run.StateName, Timestamp: at(time.Minute),
		StateDetails: &orchv1.StateDetails{PauseTimeout: at(-9 * time.Minute), RunInputKeyset: &orchv1.StringMap{Values: map[string]string{
			"schema": "paused-1-schema", "description": "paused-1-description", "response": "paused-1-response",
		}}},
	}
	maps.Copy(all, answers{
		orchv1.FlowRunService_ReadFlowRun_FullMethodName: run,
		orchv1.FlowRunInputService_ReadFlowRunInput_FullMethodName: func(r proto.Message) proto.Message {
			if r.(*orchv1.ReadFlowRunInputRequest).GetKey() == "paused-1-description" {
				return &httpbody.HttpBody{Data: []byte(`"# Release?\n\n<script>alert(1)</script>"`)}
			}
			return &httpbody.HttpBody{Data: []byte(`{"type": "object", "required": ["ticket", "sure"], "$defs": {
				"Place": {"type": "object", "title": "Place", "required": ["street"], "properties": {"street": {"type": "string"}, "number": {"type": "integer", "default": 1}}},
				"Env": {"enum": ["staging", "production"], "type": "string"}}, "properties": {
				"ticket": {"type": "string", "title": "Ticket <b>"}, "sure": {"type": "boolean"}, "dry": {"type": "boolean", "default": true}, "env": {"$ref": "#/$defs/Env", "default": "staging"},
				"note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}, "at": {"type": "string", "format": "date-time", "default": "2030-01-31T12:00:00Z"},
				"day": {"type": "string", "format": "date"}, "where": {"$ref": "#/$defs/Place"}, "tags": {"type": "array"}}}`)}
		},
	})
	return all
}

// flowRunCases are the pages of one flow run and one task run.
func flowRunCases() []pageCase {
	const run, task = "/runs/flow-run/" + someID, "/runs/task-run/" + someID
	cases := []pageCase{
		{name: "flow-run", path: run},
		{name: "flow-run-tasks", path: run + "/tasks?state=FAILED&state=CRASHED&q=load"},
		{name: "flow-run-logs", path: run + "/logs?level=warning&q=KeyError"},
		{name: "flow-run-logs-bad", path: run + "/logs?level=loud", status: 400},
		{name: "flow-run-events", path: run + "/events"},
		{name: "flow-run-artifacts", path: run + "/artifacts"},
		{name: "flow-run-parameters", path: run + "/parameters"},
		{name: "flow-run-states", path: run + "/states"},
		{name: "flow-run-delete", path: run, form: url.Values{"action": {"delete-run"}}},
		{name: "flow-run-at", path: run + "?at=2030-01-31T11:40:00Z"},
		{name: "flow-run-before", path: run + "?at=2030-01-30"},
		{name: "flow-run-at-bad", path: run + "?at=%2B1h", status: 400},
		{name: "flow-run-states-at", path: run + "/states?at=2030-01-31T11:40:00Z"},
		{name: "task-run-at", path: task + "?at=2030-01-31T11:40:00Z"},
		{name: "task-run", path: task},
		{name: "task-run-logs", path: task + "/logs"},
		{name: "task-run-events", path: task + "/events"},
		{name: "task-run-artifacts", path: task + "/artifacts"},
		{name: "task-run-inputs", path: task + "/inputs"},
		{name: "task-run-states", path: task + "/states"},
		{name: "flow-run-logs-attempt", path: run + "/logs?attempt=1&logger=flow_runs&at=2030-01-31T11:59:00Z"},
		{name: "flow-run-logs-bad-attempt", path: run + "/logs?attempt=9", status: 400},
	}
	for i := range cases {
		cases[i].answers = flowRunAnswers()
	}
	refused := flowRunAnswers()
	refused[orchv1.FlowRunService_SetFlowRunState_FullMethodName] = &orchv1.OrchestrationResult{
		Status:  orchv1.SetStateStatus_SET_STATE_STATUS_ABORT,
		Details: &orchv1.TransitionDetails{Kind: &orchv1.TransitionDetails_Abort{Abort: &orchv1.StateAbortDetails{Reason: proto.String("This run has ended " + hostile)}}},
	}
	large := flowRunAnswers()
	large[orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName] = rpc.Detail(400, "The graph has more than 10000 nodes.")
	large[orchv1.TaskRunService_TaskRunHistory_FullMethodName] = &orchv1.HistoryList{History: []*orchv1.HistoryResponse{
		{IntervalStart: at(time.Hour), IntervalEnd: at(0), States: []*orchv1.HistoryResponseState{
			{StateType: orchv1.StateType_STATE_TYPE_COMPLETED, StateName: "Completed", CountRuns: 20_000}, {StateType: orchv1.StateType_STATE_TYPE_FAILED, StateName: "Failed", CountRuns: 17},
		}},
	}}
	return append(cases,
		pageCase{name: "flow-run-ended", path: run, answers: endedRun()},
		pageCase{name: "flow-run-paused", path: run, answers: pausedRun()},
		pageCase{name: "flow-run-paused-bad", path: run, answers: pausedRun(), status: 422, form: url.Values{"action": {"resume-run"}, "p.note": {hostile}, "p.where/number": {"two"}}},
		pageCase{name: "flow-run-large", path: run, answers: large},
		pageCase{name: "flow-run-refused", path: run, answers: refused, form: url.Values{"action": {"cancel-run"}}},
		pageCase{name: "flow-run-gone", path: run, status: 404},
	)
}
