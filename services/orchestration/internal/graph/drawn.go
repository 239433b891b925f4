package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// drawn is a node with the ids that its inputs name.
type drawn struct {
	node *orchv1.GraphNode
	// Took are those whose results it took, inside those that it ran inside of. They may name what is not in the graph.
	took, inside []string
}

// drawBatch is how many task runs are looked up subflows of at a time.
const drawBatch = 500

// insideOf is the name under which a task run tells what it ran inside of.
const insideOf = "__parents__"

func (d *drawn) shown(since time.Time) bool {
	return d.node.EndTime == nil || !d.node.GetEndTime().AsTime().Before(since)
}

// drawn makes the nodes of a flow run. It refuses where too many would be shown.
func (s *Service) drawn(ctx context.Context, ws, run uuid.UUID, since time.Time) ([]*drawn, error) {
	var all []*drawn
	var shown int64
	var batch []*orchv1.TaskRun
	draw := func() error {
		subflows, err := s.subflows(ctx, ws, batch)
		if err != nil {
			return err
		}
		for _, task := range batch {
			for _, d := range drawTask(task, subflows[task.GetId()]) {
				if all = append(all, d); d.shown(since) {
					shown++
				}
			}
		}
		batch = batch[:0]
		if shown > s.maxNodes {
			return s.tooLarge(run.String())
		}
		return nil
	}
	var failed error
	err := s.tasks.Each(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.Binary(run)}}, bson.D{{Key: "_id", Value: 1}}, func(task *orchv1.TaskRun) bool {
		if batch = append(batch, task); len(batch) == drawBatch {
			failed = draw()
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return all, draw()
}

// subflow is a flow run that a task run stands for, and the name of its flow.
type subflow struct {
	run  *orchv1.FlowRun
	flow string
}

// subflows are those of some task runs, by the ids of the task runs.
func (s *Service) subflows(ctx context.Context, ws uuid.UUID, tasks []*orchv1.TaskRun) (map[string][]subflow, error) {
	ids, err := binaries(tasks, (*orchv1.TaskRun).GetId)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	runs, err := s.runs.Find(ctx, ws, bson.D{{Key: "parent_task_run_id", Value: bson.D{{Key: "$in", Value: ids}}}}, bson.D{{Key: "_id", Value: 1}}, 0, -1)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if ids, err = binaries(runs, (*orchv1.FlowRun).GetFlowId); err != nil {
		return nil, err
	}
	flows, err := s.flows.Find(ctx, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, bson.D{{Key: "_id", Value: 1}}, 0, -1)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, flow := range flows {
		names[flow.GetId()] = flow.GetName()
	}
	found := map[string][]subflow{}
	for _, run := range runs {
		task := run.GetParentTaskRunId()
		found[task] = append(found[task], subflow{run, names[run.GetFlowId()]})
	}
	return found, nil
}

// binaries are ids as they are stored, each once.
func binaries[M any](of []M, id func(M) string) (bson.A, error) {
	known := map[string]bool{}
	list := bson.A{}
	for _, m := range of {
		text := id(m)
		if known[text] {
			continue
		}
		known[text] = true
		parsed, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read an id: %w", err)
		}
		list = append(list, store.Binary(parsed))
	}
	return list, nil
}

// drawTask makes the nodes of a task run: one for itself, or one for each flow run that it stands for. A run of which
// nobody knows when it starts, or that has no state, is in no place of the picture.
func drawTask(task *orchv1.TaskRun, subflows []subflow) []*drawn {
	var took, inside []string
	for name, sources := range task.GetTaskInputs() {
		for _, source := range sources.GetValues() {
			id := source.GetTaskRun().GetId() + source.GetFlowRun().GetId()
			switch {
			case id == "":
			case name == insideOf:
				inside = append(inside, id)
			default:
				took = append(took, id)
			}
		}
	}
	end := task.EndTime
	if end == nil && task.GetState().GetType() == orchv1.StateType_STATE_TYPE_COMPLETED {
		end = task.ExpectedStartTime
	}
	start := first(task.StartTime, task.ExpectedStartTime)
	nodes := []*orchv1.GraphNode{{
		Kind: orchv1.GraphNodeKind_GRAPH_NODE_KIND_TASK_RUN, Id: task.GetId(), Label: task.GetName(),
		StateType: task.GetState().GetType(), StartTime: start, EndTime: end,
	}}
	if len(subflows) > 0 {
		nodes = nil
	}
	for _, sub := range subflows {
		kind := sub.run.GetState().GetType()
		if sub.run.GetState() == nil {
			kind = task.GetState().GetType()
		}
		nodes = append(nodes, &orchv1.GraphNode{
			Kind: orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN, Id: sub.run.GetId(), Label: sub.flow + " / " + sub.run.GetName(),
			StateType: kind, StartTime: first(sub.run.StartTime, sub.run.ExpectedStartTime, start), EndTime: first(sub.run.EndTime, end),
		})
	}
	var list []*drawn
	for _, node := range nodes {
		if node.StartTime != nil && node.StateType != orchv1.StateType_STATE_TYPE_UNSPECIFIED {
			list = append(list, &drawn{node: node, took: append([]string(nil), took...), inside: append([]string(nil), inside...)})
		}
	}
	return list
}
