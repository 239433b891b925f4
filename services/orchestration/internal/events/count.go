package events

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
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
	switch r.GetCountable() {
	case orchv1.Countable_COUNTABLE_EVENT:
		return s.countByName(ctx, info.Workspace, filter)
	case orchv1.Countable_COUNTABLE_RESOURCE:
		return s.countByField(ctx, info.Workspace, filter, "$resource_id")
	case orchv1.Countable_COUNTABLE_DAY:
		return s.countByTime(ctx, info.Workspace, filter, orchv1.TimeUnit_TIME_UNIT_DAY, 1)
	}
	return s.countByTime(ctx, info.Workspace, filter, q.GetTimeUnit(), q.GetTimeInterval())
}

type group struct {
	ID    string `bson:"_id"`
	N     int64  `bson:"n"`
	First int64  `bson:"first"`
	Last  int64  `bson:"last"`
	// Latest holds the labels of the last event, for the resource's name.
	Latest struct {
		Resource []pair `bson:"resource"`
	} `bson:"latest"`
}

type pair struct {
	K string `bson:"k"`
	V string `bson:"v"`
}

// countByName counts the events of each name, the most frequent first. While there are few names, it counts each
// separately: an index does that without reading events.
func (s *Service) countByName(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) (*orchv1.EventCountList, error) {
	names, err := s.names(ctx, ws, filter.GetEvent())
	if err != nil {
		return nil, err
	}
	if len(names) > maxNames {
		return s.countByField(ctx, ws, filter, "$event")
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
	n, err := s.events.Count(ctx, ws, compiled)
	if err != nil || n == 0 {
		return nil, err
	}
	count := &orchv1.EventCount{Value: name, Label: name, Count: n}
	for _, end := range []struct {
		order orchv1.EventOrder
		at    **timestamppb.Timestamp
	}{{orchv1.EventOrder_EVENT_ORDER_ASC, &count.StartTime}, {orchv1.EventOrder_EVENT_ORDER_DESC, &count.EndTime}} {
		found, err := s.events.Find(ctx, ws, compiled, query.EventSort(end.order), 0, 1)
		if err != nil || len(found) == 0 { // Or it was deleted concurrently.
			return nil, err
		}
		*end.at = found[0].GetOccurred()
	}
	return count, nil
}

// countByField groups by a field, the most frequent first.
func (s *Service) countByField(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, field string) (*orchv1.EventCountList, error) {
	compiled, err := s.compile(ws, filter)
	if err != nil {
		return nil, err
	}
	var rows []group
	err = s.events.Aggregate(ctx, ws, compiled, []bson.D{
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: field},
			{Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
			{Key: "first", Value: bson.D{{Key: "$min", Value: "$occurred"}}},
			{Key: "last", Value: bson.D{{Key: "$max", Value: "$occurred"}}},
			// MongoDB compares documents by their first field before the second.
			{Key: "latest", Value: bson.D{{Key: "$max", Value: bson.D{
				{Key: "occurred", Value: "$occurred"}, {Key: "resource", Value: "$resource"},
			}}}},
		}}},
	}, &rows)
	if err != nil {
		return nil, err
	}
	list := &orchv1.EventCountList{}
	for _, row := range rows {
		label := row.ID
		if field == "$resource_id" {
			label = s.nameOf(row)
		}
		list.Counts = append(list.Counts, &orchv1.EventCount{
			Value: row.ID, Label: label, Count: row.N,
			StartTime: timestamppb.New(time.UnixMicro(row.First)), EndTime: timestamppb.New(time.UnixMicro(row.Last)),
		})
	}
	mostFrequentFirst(list)
	return list, nil
}

// nameOf returns the display name of a resource: its name, else the older label for a name, else its id.
func (s *Service) nameOf(of group) string {
	for _, label := range []string{s.vocab.ResourceName(), s.vocab.Name("name")} {
		at := slices.IndexFunc(of.Latest.Resource, func(l pair) bool { return l.K == label })
		if at >= 0 {
			return of.Latest.Resource[at].V
		}
	}
	return of.ID
}

func mostFrequentFirst(list *orchv1.EventCountList) {
	slices.SortFunc(list.Counts, func(a, b *orchv1.EventCount) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), strings.Compare(a.GetLabel(), b.GetLabel()),
			strings.Compare(a.GetValue(), b.GetValue()))
	})
}
