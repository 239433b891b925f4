package engine

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// TestGroupByWorkspace: events stay in their order, and a batch of one workspace is not copied.
func TestGroupByWorkspace(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	event := func(ws uuid.UUID, name string) broker.Event { return broker.Event{Workspace: ws, Type: name} }
	one := []broker.Event{event(a, "1"), event(a, "2")}
	groups := groupByWorkspace(one)
	require.Len(t, groups, 1)
	require.Same(t, &one[0], &groups[a][0])
	require.Equal(t, map[uuid.UUID][]broker.Event{
		a: {event(a, "1"), event(a, "3")}, b: {event(b, "2")},
	}, groupByWorkspace([]broker.Event{event(a, "1"), event(b, "2"), event(a, "3")}))
}
