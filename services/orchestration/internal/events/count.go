package events

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CountEvents counts the matching events by day, by another time unit, by name, or by resource.
func (s *Service) CountEvents(ctx context.Context, r *orchv1.CountEventsRequest) (*orchv1.EventCountList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.begin(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	defer end()
	q := r.GetQuery()
	filter := s.complete(q.GetFilter())
	named, none, err := s.named(ctx, info.Workspace, filter)
	if err != nil {
		return nil, err
	}
	if !none {
		filter = named
	}
	if err := s.searchable(ctx, info.Workspace, filter); err != nil {
		return nil, err
	}
	switch r.GetCountable() {
	case orchv1.Countable_COUNTABLE_EVENT:
		return s.countByName(ctx, info.Workspace, filter)
	case orchv1.Countable_COUNTABLE_RESOURCE:
		return s.countByResource(ctx, info.Workspace, filter)
	case orchv1.Countable_COUNTABLE_DAY:
		return s.countByTime(ctx, info.Workspace, filter, orchv1.TimeUnit_TIME_UNIT_DAY, 1)
	}
	return s.countByTime(ctx, info.Workspace, filter, q.GetTimeUnit(), q.GetTimeInterval())
}

// countByName counts the events of each name, the most frequent first. While there are few names, it counts each
// separately: an index does that without reading events.
func (s *Service) countByName(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) (*orchv1.EventCountList, error) {
	names, err := s.names(ctx, ws, filter.GetEvent())
	if err != nil {
		return nil, err
	}
	if len(names) > maxNames {
		return s.countGroups(ctx, ws, filter, "event", query.EventsByName)
	}
	list := &orchv1.EventCountList{}
	for _, name := range names {
		c, err := s.countOfName(ctx, ws, filter, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			list.Counts = append(list.Counts, c)
		}
	}
	mostFrequentFirst(list)
	return list, nil
}

// countOfName counts the events of a name; nil if there are none.
func (s *Service) countOfName(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, name string) (*orchv1.EventCount, error) {
	filter = proto.CloneOf(filter)
	filter.Event = &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{name}}}
	compiled, err := s.compile(ws, filter)
	if err != nil {
		return nil, err
	}
	n, err := s.events.Count(ctx, ws, store.Query{Filter: compiled})
	if err != nil || n == 0 {
		return nil, err
	}
	count := &orchv1.EventCount{Value: name, Label: name, Count: n}
	for _, end := range []struct {
		order orchv1.EventOrder
		at    **timestamppb.Timestamp
	}{{orchv1.EventOrder_EVENT_ORDER_ASC, &count.StartTime}, {orchv1.EventOrder_EVENT_ORDER_DESC, &count.EndTime}} {
		found, err := s.events.Find(ctx, ws, store.Query{Filter: compiled, Sort: query.EventSort(end.order), Limit: 1})
		if err != nil || len(found) == 0 { // Or it was deleted concurrently.
			return nil, err
		}
		*end.at = found[0].GetOccurred()
	}
	return count, nil
}

func mostFrequentFirst(list *orchv1.EventCountList) {
	slices.SortFunc(list.Counts, func(a, b *orchv1.EventCount) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), strings.Compare(a.GetLabel(), b.GetLabel()),
			strings.Compare(a.GetValue(), b.GetValue()))
	})
}
