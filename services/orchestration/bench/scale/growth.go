package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// The documents of each run of bench-growth.
const (
	tasksOfRun  = 3
	eventsOfRun = 5
	logsOfRun   = 2
)

// fillGrowth stores the task runs, events, logs and artifacts of the n runs of a store for bench-growth.
func (w *world) fillGrowth(ctx context.Context, n int) error {
	return errors.Join(
		insert(ctx, w, query.TaskRun, func(i int) *orchv1.TaskRun { return taskOfRun(i, n) }, sequence{0, 1, tasksOfRun * n}),
		insert(ctx, w, query.Event, func(i int) *orchv1.ReceivedEvent { return eventOfRun(i, n) }, sequence{0, 1, eventsOfRun * n}),
		insert(ctx, w, query.Log, func(i int) *orchv1.Log { return lineOfRun(i, n) }, sequence{0, 1, logsOfRun * n}),
		insert(ctx, w, query.Artifact, func(i int) *orchv1.Artifact { return artifact(i, n) }, sequence{3, 100, n}),
		insert(ctx, w, query.ArtifactLatest, func(i int) *orchv1.ArtifactCollection { return latestArtifact(i, n) }, sequence{0, 1, latest}),
	)
}

// taskOfRun returns the i-th task run.
func taskOfRun(i, n int) *orchv1.TaskRun {
	t := taskRun(i/tasksOfRun, n)
	k := i % tasksOfRun
	t.Id, t.Name, t.TaskKey = known("task-of-run", i).String(), fmt.Sprintf("%s-%d", runName(i/tasksOfRun, n), k), fmt.Sprintf("task-%d", k)
	return t
}

// eventOfRun returns the i-th event: the states of runs.
func eventOfRun(i, n int) *orchv1.ReceivedEvent {
	run := flowRun(i/eventsOfRun, n)
	k := i % eventsOfRun
	name := []string{"Pending", "Running", "Completed", "heartbeat", "task-started"}[k]
	resource, flow := vocabulary.Prefect.Name("flow-run", run.GetId()), vocabulary.Prefect.Name("flow", run.GetFlowId())
	id, role := vocabulary.Prefect.ResourceID(), vocabulary.Prefect.ResourceRole()
	occurred := timestamppb.New(run.GetExpectedStartTime().AsTime().Add(time.Duration(k) * time.Millisecond))
	return &orchv1.ReceivedEvent{
		Id: known("event", i).String(), Event: vocabulary.Prefect.Name("flow-run", name), Occurred: occurred, Received: occurred, Payload: []byte(`{"run_count":1}`),
		Resource:   &orchv1.Resource{Labels: map[string]string{id: resource, vocabulary.Prefect.ResourceName(): run.GetName()}},
		Related:    []*orchv1.RelatedResource{{Labels: map[string]string{id: flow, role: "flow"}}},
		ResourceId: resource, ResourceIds: []string{resource, flow},
	}
}

// lineOfRun returns the i-th log line; one in twenty is an error.
func lineOfRun(i, n int) *orchv1.Log {
	line := logLine(i/logsOfRun, n)
	if line.Id = known("line", i).String(); i%20 == 7 {
		line.Level, line.Message = 40, fmt.Sprintf("run %d has failed", n-i/logsOfRun)
	}
	return line
}
