package main

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// spacing is the time between the starts of two runs.
var spacing = time.Second

// at is the start of the i-th of n runs, the last one a spacing before newest.
func at(i, n int) *timestamppb.Timestamp {
	return timestamppb.New(newest.Add(time.Duration(i-n) * spacing))
}

// The words of names: as a server's own, names have two, so many runs share one.
var (
	first  = []string{"amber", "azure", "bold", "brisk", "calm", "copper", "daring", "eager", "fluffy", "gentle", "golden", "hasty", "humble", "jolly", "keen", "lunar", "merry", "misty", "noble", "polite", "quiet", "rapid", "rustic", "scarlet", "serene", "silver", "solar", "steady", "sunny", "tidy", "velvet", "vivid", "warm", "witty"}
	second = []string{"alpaca", "badger", "bear", "bison", "camel", "crane", "deer", "dolphin", "eagle", "falcon", "finch", "fox", "gazelle", "goose", "hare", "hawk", "heron", "ibex", "jaguar", "kestrel", "lark", "lemur", "llama", "lynx", "marten", "moose", "newt", "ocelot", "osprey", "otter", "owl", "panda", "puffin", "raven", "robin", "salmon", "seal", "stork", "swan", "tapir", "tern", "trout", "walrus", "weasel", "wolf", "wren", "yak"}
)

// runName is the name of the i-th of n runs. One in ten has a name of its own.
func runName(i, n int) string {
	if (n-i)%10 == 7 {
		return fmt.Sprintf("run-%d", n-i)
	}
	mixed := uint32(n-i) * 2654435761 >> 8
	return first[int(mixed)%len(first)] + "-" + second[int(mixed)/len(first)%len(second)]
}

func flow(i int) *orchv1.Flow {
	return &orchv1.Flow{Id: known("flow", i).String(), Name: fmt.Sprintf("flow-%d", i), Tags: []string{fmt.Sprintf("tag-%d", i%7)}, Created: at(i, 100), Updated: at(i, 100)}
}

func deployment(i int) *orchv1.Deployment {
	queue := i % queues
	return &orchv1.Deployment{
		Id: known("deployment", i).String(), Name: fmt.Sprintf("deployment-%d", i), FlowId: known("flow", i).String(), Tags: []string{fmt.Sprintf("tag-%d", i%7)},
		WorkQueueId: new(known("queue", queue).String()), WorkQueueName: new(fmt.Sprintf("queue-%d", queue)), Created: at(i, 100), Updated: at(i, 100),
	}
}

func workPool(i int) *orchv1.WorkPool {
	return &orchv1.WorkPool{Id: known("pool", i).String(), Name: fmt.Sprintf("pool-%d", i), Type: "process", BaseJobTemplate: []byte("{}"), Created: at(i, 100), Updated: at(i, 100)}
}

func workQueue(i int) *orchv1.WorkQueue {
	return &orchv1.WorkQueue{Id: known("queue", i).String(), Name: fmt.Sprintf("queue-%d", i), WorkPoolId: new(known("pool", i/5).String()), Created: at(i, 100), Updated: at(i, 100)}
}

// flowRun returns the i-th of n runs, the oldest first. Most are completed, one in eleven failed, and the newest
// hundred are scheduled.
func flowRun(i, n int) *orchv1.FlowRun {
	start := at(i, n)
	state := &orchv1.State{Id: known("state", i).String(), Timestamp: start, Name: new("Completed"), Type: orchv1.StateType_STATE_TYPE_COMPLETED}
	run := &orchv1.FlowRun{
		Id: known("run", i).String(), Name: runName(i, n), FlowId: known("flow", i%flows).String(),
		Parameters: []byte(`{"x":1,"y":"two"}`), Tags: []string{"bench", fmt.Sprintf("tag-%d", i%7)},
		Created: start, Updated: start, ExpectedStartTime: start, SortStart: start, State: state,
		IdempotencyKey: new(fmt.Sprintf("key-%d", n-i)), FlowVersion: new(fmt.Sprintf("v%d", i%3)),
		JobVariables: []byte("{}"), EmpiricalPolicy: &orchv1.FlowRunPolicy{}, RunCount: 1,
	}
	switch {
	case n-i <= 100:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_SCHEDULED, new("Scheduled")
		run.NextScheduledStartTime, run.RunCount = start, 0
	case i%11 == 0:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_FAILED, new("Failed")
	}
	if run.GetRunCount() > 0 {
		end := start.AsTime().Add(time.Minute)
		run.StartTime, run.EndTime, run.TotalRunTime = start, timestamppb.New(end), time.Minute.Seconds()
	}
	if i%2 == 0 {
		run.DeploymentId = new(known("deployment", i/2%deployments).String())
		run.WorkQueueId, run.WorkQueueName = new(known("queue", i/2%queues).String()), new(fmt.Sprintf("queue-%d", i/2%queues))
	}
	if i%100 == 1 {
		run.ParentTaskRunId = new(known("task", i).String())
	}
	return run
}

// taskRun returns the task run of the i-th of n runs; one run in five has one.
func taskRun(i, n int) *orchv1.TaskRun {
	run := flowRun(i, n)
	return &orchv1.TaskRun{
		Id: known("task", i).String(), Name: fmt.Sprintf("task-%d", i%50), FlowRunId: &run.Id, FlowId: &run.FlowId, DeploymentId: run.DeploymentId,
		TaskKey: "task", DynamicKey: "0", Tags: run.GetTags(), EmpiricalPolicy: &orchv1.TaskRunPolicy{}, RunCount: 1,
		Created: run.Created, Updated: run.Updated, ExpectedStartTime: run.ExpectedStartTime, NextScheduledStartTime: run.NextScheduledStartTime,
		StartTime: run.StartTime, EndTime: run.EndTime, SortStart: run.SortStart, State: run.State,
	}
}

// logLine returns a line of the i-th of n runs; one run in five has one.
func logLine(i, n int) *orchv1.Log {
	return &orchv1.Log{
		Id: known("log", i).String(), Created: at(i, n), Updated: at(i, n), Timestamp: at(i, n), Name: "bench.flow_runs", Level: 20,
		Message: fmt.Sprintf("run %d has ended", n-i), FlowRunId: new(known("run", i).String()),
	}
}

// artifact returns an artifact of the i-th of n runs; one run in a hundred has one.
func artifact(i, n int) *orchv1.Artifact {
	return &orchv1.Artifact{
		Id: known("artifact", i).String(), Created: at(i, n), Updated: at(i, n), Key: new(fmt.Sprintf("key-%d", i/100%latest)), Type: new("markdown"),
		Data: []byte(`"text"`), FlowRunId: new(known("run", i).String()),
	}
}

// latestArtifact returns the newest artifact of the i-th key.
func latestArtifact(i, n int) *orchv1.ArtifactCollection {
	a := artifact(max(n/100-latest, 0)*100+i*100+3, n)
	return &orchv1.ArtifactCollection{
		Id: known("latest", i).String(), Created: a.Created, Updated: a.Updated, Key: fmt.Sprintf("key-%d", i), LatestId: a.GetId(), Type: a.Type,
		Data: a.Data, FlowRunId: a.FlowRunId,
	}
}
