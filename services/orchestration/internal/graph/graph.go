package graph

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadFlowRunGraphV2 returns the graph of a flow run. With a time, it omits the nodes that ended earlier but keeps
// edges to them.
func (s *Service) ReadFlowRunGraphV2(ctx context.Context, r *orchv1.ReadFlowRunGraphV2Request) (*orchv1.Graph, error) {
	ws, id, run, err := s.run(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	nodes, err := s.nodes(ctx, ws, id, r.GetSince().AsTime())
	if err != nil {
		return nil, err
	}
	made, err := s.artifactsOf(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	states, err := s.states(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	graph := &orchv1.Graph{
		StartTime: first(run.StartTime, run.ExpectedStartTime), EndTime: run.EndTime, Artifacts: made[uuid.Nil.String()],
	}
	for _, n := range nodes {
		n.Artifacts = made[n.GetId()]
		if len(n.GetParents()) == 0 {
			graph.RootNodeIds = append(graph.RootNodeIds, n.GetId())
		}
		graph.Nodes = append(graph.Nodes, &orchv1.GraphEntry{Id: n.GetId(), Node: n})
	}
	for _, state := range states.GetStates() {
		graph.States = append(graph.States, &orchv1.GraphState{
			Id: state.GetId(), Timestamp: state.GetTimestamp(), Type: state.GetType(), Name: state.GetName(),
		})
	}
	return graph, nil
}

// tooLarge is the response for a graph with too many nodes.
func (s *Service) tooLarge(run string) error {
	return rpc.Detail(http.StatusBadRequest, fmt.Sprintf("The graph of flow run %s has more than %d nodes.", run, s.maxNodes))
}

// nodes returns a flow run's nodes that had not ended before a time, earliest first, with all their edges.
func (s *Service) nodes(ctx context.Context, ws, run uuid.UUID, since time.Time) ([]*orchv1.GraphNode, error) {
	all, err := s.drawn(ctx, ws, run, since)
	if err != nil {
		return nil, err
	}
	// Every list of edges has the order of the nodes.
	slices.SortFunc(all, func(a, b *drawn) int {
		return cmp.Or(
			a.node.GetStartTime().AsTime().Compare(b.node.GetStartTime().AsTime()),
			compareEnds(a.node.EndTime, b.node.EndTime),
			cmp.Compare(a.node.GetId(), b.node.GetId()),
		)
	})
	byID := make(map[string]*drawn, len(all))
	position := make(map[string]int, len(all))
	for i, d := range all {
		byID[d.node.GetId()] = d
		position[d.node.GetId()] = i
	}
	present := func(ids []string) []string {
		ids = slices.DeleteFunc(ids, func(id string) bool { return byID[id] == nil })
		slices.SortFunc(ids, func(a, b string) int { return position[a] - position[b] })
		return slices.Compact(ids)
	}
	for _, d := range all {
		d.node.Encapsulating = edges(present(d.inside))
		parents := present(d.took)
		d.node.Parents = edges(parents)
		for _, parent := range parents {
			byID[parent].node.Children = append(byID[parent].node.Children, &orchv1.GraphEdge{Id: d.node.GetId()})
		}
	}
	var nodes []*orchv1.GraphNode
	for _, d := range all {
		if d.shown(since) {
			nodes = append(nodes, d.node)
		}
	}
	return nodes, nil
}

func edges(ids []string) []*orchv1.GraphEdge {
	var list []*orchv1.GraphEdge
	for _, id := range ids {
		list = append(list, &orchv1.GraphEdge{Id: id})
	}
	return list
}

// compareEnds sorts unfinished nodes last.
func compareEnds(a, b *timestamppb.Timestamp) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.AsTime().Compare(b.AsTime())
}

func first(times ...*timestamppb.Timestamp) *timestamppb.Timestamp {
	for _, t := range times {
		if t != nil {
			return t
		}
	}
	return nil
}
