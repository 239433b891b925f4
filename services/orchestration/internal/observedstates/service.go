// Package observedstates serves the types and names of the states that runs of a workspace have or had, for clients that
// offer them in a filter.
//
// The histories of runs have an index of type, name and time. Each combination is found behind the one before it, and its
// latest time by one more lookup. So the cost grows with the number of combinations and not with the number of states.
package observedstates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxNames bounds the names of one type that are read from a history, because clients choose the names. The first ones in the
// order of the names are read.
const maxNames = 1000

// Service serves observed states.
type Service struct {
	orchv1.UnimplementedObservedStateServiceServer

	flowRuns *store.Collection[*orchv1.FlowRunStateRecord]
	taskRuns *store.Collection[*orchv1.TaskRunStateRecord]
}

// New returns the service.
func New(s *store.Store) *Service {
	return &Service{
		flowRuns: store.NewCollection(s, query.FlowRunState, &orchv1.FlowRunStateRecord{}),
		taskRuns: store.NewCollection(s, query.TaskRunState, &orchv1.TaskRunStateRecord{}),
	}
}

// combination is what an observed state is identified by.
type combination struct{ kind, name string }

// span is the time of the earliest and of the latest state.
type span struct{ first, last time.Time }

// union returns the span of the states of both.
func (s span) union(other span) span {
	if other.first.Before(s.first) {
		s.first = other.first
	}
	if other.last.After(s.last) {
		s.last = other.last
	}
	return s
}

// ReadObservedStates returns the combinations of type and name in the histories of a workspace.
func (s *Service) ReadObservedStates(ctx context.Context, r *orchv1.ReadObservedStatesRequest) (*orchv1.ObservedStateList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	prefix := strings.ToLower(strings.TrimSpace(r.GetQuery()))
	observed := map[combination]span{}
	for _, kind := range stateTypes() {
		if err := observe(ctx, s.flowRuns, info.Workspace, kind, observed); err != nil {
			return nil, err
		}
		if err := observe(ctx, s.taskRuns, info.Workspace, kind, observed); err != nil {
			return nil, err
		}
	}
	list := &orchv1.ObservedStateList{}
	for c, seen := range observed {
		if !strings.HasPrefix(strings.ToLower(c.kind), prefix) && !strings.HasPrefix(strings.ToLower(c.name), prefix) {
			continue
		}
		list.States = append(list.States, &orchv1.ObservedState{
			StateType: c.kind, StateName: c.name, FirstSeen: timestamppb.New(seen.first), LastSeen: timestamppb.New(seen.last),
		})
	}
	slices.SortFunc(list.States, comparison(r.GetOrderBy()))
	list.States = list.States[:min(int64(len(list.States)), r.GetLimit())]
	return list, nil
}

// comparison returns the comparison of an order. Equal times are ordered by type and name.
func comparison(order orchv1.ObservedStateSort) func(a, b *orchv1.ObservedState) int {
	byName := func(a, b *orchv1.ObservedState) int {
		return cmp.Or(strings.Compare(a.GetStateType(), b.GetStateType()), strings.Compare(a.GetStateName(), b.GetStateName()))
	}
	if order == orchv1.ObservedStateSort_OBSERVED_STATE_SORT_NAME_ASC {
		return byName
	}
	return func(a, b *orchv1.ObservedState) int {
		return cmp.Or(b.GetLastSeen().AsTime().Compare(a.GetLastSeen().AsTime()), byName(a, b))
	}
}

// stateTypes returns the words of the types of states.
func stateTypes() []string {
	types := orchv1.StateType(0).Descriptor()
	var words []string
	for i := range types.Values().Len() {
		if name, ok := restjson.EnumWord(types, types.Values().Get(i).Number()); ok {
			words = append(words, name)
		}
	}
	return words
}

// observe adds the combinations of one type in a history.
func observe[R interface {
	proto.Message
	runs.StateRow
}](ctx context.Context, rows *store.Collection[R], ws uuid.UUID, kind string, observed map[combination]span) error {
	byName := bson.D{{Key: "state.name", Value: 1}, {Key: "timestamp", Value: 1}}
	newest := bson.D{{Key: "timestamp", Value: -1}}
	filter := bson.D{{Key: "state.type", Value: kind}}
	for range maxNames {
		earliest, err := rows.Find(ctx, ws, store.Query{Filter: filter, Sort: byName, Limit: 1})
		if err != nil {
			return fmt.Errorf("read the names of %s states: %w", kind, err)
		}
		if len(earliest) == 0 {
			return nil
		}
		name := earliest[0].GetState().GetName()
		latest, err := rows.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "state.type", Value: kind}, {Key: "state.name", Value: name}}, Sort: newest, Limit: 1})
		if err != nil {
			return fmt.Errorf("read the latest %s state: %w", kind, err)
		}
		if len(latest) > 0 { // A deletion may have removed it meanwhile.
			c := combination{kind, name}
			seen := span{earliest[0].GetState().GetTimestamp().AsTime(), latest[0].GetState().GetTimestamp().AsTime()}
			if other, ok := observed[c]; ok { // The other kind of runs has the combination, too.
				seen = seen.union(other)
			}
			observed[c] = seen
		}
		filter = bson.D{{Key: "state.type", Value: kind}, {Key: "state.name", Value: bson.D{{Key: "$gt", Value: name}}}}
	}
	return nil
}
