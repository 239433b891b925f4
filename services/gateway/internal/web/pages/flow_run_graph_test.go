package pages

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
)

var runStart = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return runStart.Add(time.Duration(n) * time.Second) }

// graphOf returns a graph whose nodes end at the given seconds. A node without an end was not reached.
func graphOf(ends map[string]int, parents map[string][]string) *runGraph {
	g := &runGraph{spans: map[string]chart.Span{}}
	for _, id := range []string{"a", "b", "c", "d"} {
		node := &orchv1.GraphNode{Id: id, Label: id + "-0", StartTime: timestamppb.New(runStart)}
		for _, parent := range parents[id] {
			node.Parents = append(node.Parents, &orchv1.GraphEdge{Id: parent})
		}
		g.entries = append(g.entries, &orchv1.GraphEntry{Id: id, Node: node})
		if end, began := ends[id]; began {
			g.spans[id] = chart.Span{From: runStart, To: second(end)}
		}
	}
	return g
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		ends    map[string]int
		parents map[string][]string
		path    []string
		text    string
	}{
		{name: "no node began"},
		{name: "the last node has no parent", ends: map[string]int{"a": 1, "b": 9}, parents: map[string][]string{"a": {"b"}}},
		{
			name: "the parent that ended last decides", ends: map[string]int{"a": 1, "b": 4, "c": 9}, parents: map[string][]string{"c": {"a", "b"}},
			path: []string{"b", "c"}, text: "critical path 9 s: b → c",
		},
		{
			name: "a node that was not reached is no part", ends: map[string]int{"a": 1, "b": 4}, parents: map[string][]string{"b": {"a"}, "d": {"b"}},
			path: []string{"a", "b"}, text: "critical path 4 s: a → b",
		},
		{
			name: "a cycle ends", ends: map[string]int{"a": 1, "b": 4}, parents: map[string][]string{"a": {"b"}, "b": {"a"}},
			path: []string{"a", "b"}, text: "critical path 4 s: a → b",
		},
		{name: "a parent of another run", ends: map[string]int{"a": 1}, parents: map[string][]string{"a": {"absent"}}},
		{
			name: "equal ends: the smaller id", ends: map[string]int{"a": 4, "b": 4, "c": 9}, parents: map[string][]string{"c": {"b", "a"}},
			path: []string{"a", "c"}, text: "critical path 9 s: a → c",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := graphOf(c.ends, c.parents)
			var path []string
			for _, node := range g.criticalPath() {
				path = append(path, node.GetId())
			}
			require.Equal(t, c.path, path)
			require.Equal(t, c.text, g.criticalText())
		})
	}
}

func TestLanesOfTasksThatWereNotReachedAreLast(t *testing.T) {
	t.Parallel()
	lane := func(label string, start int) chart.Lane {
		return chart.Lane{Label: label, Spans: []chart.Span{{From: second(start), To: second(start + 1)}}}
	}
	lanes := []chart.Lane{{Label: "publish"}, lane("load", 5), {Label: "notify"}, lane("fetch", 1)}
	slices.SortStableFunc(lanes, byStart)
	var order []string
	for _, l := range lanes {
		order = append(order, l.Label)
	}
	require.Equal(t, []string{"fetch", "load", "publish", "notify"}, order)
}

func TestAttemptSpans(t *testing.T) {
	t.Parallel()
	const (
		pending, running, scheduled = orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_SCHEDULED
		failed, completed, crashed  = orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_CRASHED
	)
	for _, c := range []struct {
		name   string
		states []orchv1.StateType
		want   []string
	}{
		{"no state", nil, nil},
		{"one attempt", []orchv1.StateType{pending, running, completed}, nil},
		{"a retry that waits", []orchv1.StateType{pending, running, scheduled, running, completed}, []string{"attempt 1 of 2: failed, 1 s", "attempt 2 of 2: completed, 1 s"}},
		{"a retry at once", []orchv1.StateType{running, running, failed}, []string{"attempt 1 of 2: failed, 1 s", "attempt 2 of 2: failed, 1 s"}},
		{"the last attempt runs", []orchv1.StateType{running, crashed, pending, running}, []string{"attempt 1 of 2: crashed, 1 s", "attempt 2 of 2: running, 1 min 37 s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var states []*orchv1.State
			for i, state := range c.states {
				states = append(states, &orchv1.State{Type: state, Timestamp: timestamppb.New(second(i))})
			}
			var titles []string
			for _, span := range attemptSpans(states, second(100)) {
				titles = append(titles, span.Title)
			}
			require.Equal(t, c.want, titles)
		})
	}
}
