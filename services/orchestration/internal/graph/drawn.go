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
	// Took are the runs whose results it used, and inside its enclosing runs. They may lie outside the graph.
	took, inside []string
}

// drawBatch is the number of task runs per subflow query.
const drawBatch = 500

// insideOf is the input name of a task run's enclosing run.
const insideOf = "__parents__"

func (d *drawn) shown(since time.Time) bool {
	return d.node.EndTime == nil || !d.node.GetEndTime().AsTime().Before(since)
}

// drawn returns the nodes of a flow run. It refuses a graph with too many nodes.
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
	err := s.tasks.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "flow_run_id", Value: store.Binary(run)}}, Sort: bson.D{{Key: "_id", Value: 1}}}, func(task *orchv1.TaskRun) bool {
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

// subflow is the flow run of a parent task run, and its flow's name.
type subflow struct {
	run  *orchv1.FlowRun
	flow string
}

// subflows returns the subflows of task runs by task run id.
func (s *Service) subflows(ctx context.Context, ws uuid.UUID, tasks []*orchv1.TaskRun) (map[string][]subflow, error) {
	ids, err := binaries(tasks, (*orchv1.TaskRun).GetId)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	runs, err := s.runs.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "parent_task_run_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if ids, err = binaries(runs, (*orchv1.FlowRun).GetFlowId); err != nil {
		return nil, err
	}
	flows, err := s.flows.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
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

// binaries returns ids as they are stored, without duplicates.
func binaries[M any](messages []M, id func(M) string) (bson.A, error) {
	drawn := map[string]bool{}
	list := bson.A{}
	for _, m := range messages {
		text := id(m)
		if drawn[text] {
			continue
		}
		drawn[text] = true
		parsed, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read an id: %w", err)
		}
		list = append(list, store.Binary(parsed))
	}
	return list, nil
}

// drawTask returns the nodes of a task run: itself, or each of its subflows. It omits runs without a state or a start
// time.
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
