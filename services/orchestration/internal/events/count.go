package events

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// maxBuckets bounds the answer of a count by time.
const maxBuckets = 1000

// CountEvents counts the events that match by day, by another stretch of time, by name, or by resource.
func (s *Service) CountEvents(ctx context.Context, r *orchv1.CountEventsRequest) (*orchv1.EventCountList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
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
		return s.countByTime(ctx, info.Workspace, filter, unitLength[orchv1.TimeUnit_TIME_UNIT_DAY])
	}
	step := time.Duration(q.GetTimeInterval() * float64(unitLength[q.GetTimeUnit()]))
	return s.countByTime(ctx, info.Workspace, filter, step)
}

var unitLength = map[orchv1.TimeUnit]time.Duration{
	orchv1.TimeUnit_TIME_UNIT_WEEK:   7 * 24 * time.Hour,
	orchv1.TimeUnit_TIME_UNIT_DAY:    24 * time.Hour,
	orchv1.TimeUnit_TIME_UNIT_HOUR:   time.Hour,
	orchv1.TimeUnit_TIME_UNIT_MINUTE: time.Minute,
	orchv1.TimeUnit_TIME_UNIT_SECOND: time.Second,
}

type group struct {
	ID    string `bson:"_id"`
	N     int64  `bson:"n"`
	First int64  `bson:"first"`
	Last  int64  `bson:"last"`
	// Resource holds the labels of one of the events, for the resource's name.
	Resource []struct {
		K string `bson:"k"`
		V string `bson:"v"`
	} `bson:"resource"`
}

// countByName counts the events of each name, the most frequent first. As long as there are few names, each is counted by
// itself: an index does that without looking at events.
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
	slices.SortFunc(list.Counts, func(a, b *orchv1.EventCount) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), strings.Compare(a.GetValue(), b.GetValue()))
	})
	return list, nil
}

// countOfName counts the events of a name; nil where there are none.
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
		if err != nil || len(found) == 0 { // Or it is gone meanwhile.
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
			{Key: "resource", Value: bson.D{{Key: "$first", Value: "$resource"}}},
		}}},
		{{Key: "$sort", Value: bson.D{{Key: "n", Value: -1}, {Key: "_id", Value: 1}}}},
	}, &rows)
	if err != nil {
		return nil, err
	}
	list := &orchv1.EventCountList{}
	for _, row := range rows {
		label := row.ID
		if field == "$resource_id" {
			for _, l := range row.Resource {
				if l.K == s.words.ResourceName() {
					label = l.V
				}
			}
		}
		list.Counts = append(list.Counts, &orchv1.EventCount{
			Value: row.ID, Label: label, Count: row.N,
			StartTime: timestamppb.New(time.UnixMicro(row.First)), EndTime: timestamppb.New(time.UnixMicro(row.Last)),
		})
	}
	return list, nil
}

// countByTime cuts the range into stretches of equal length; those without events are listed too.
func (s *Service) countByTime(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, step time.Duration) (*orchv1.EventCountList, error) {
	since, until := filter.GetOccurred().GetSince().AsTime(), filter.GetOccurred().GetUntil().AsTime()
	if step < time.Microsecond {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "The time interval is too short.")
	}
	buckets := int64(math.Ceil(float64(until.Sub(since)+time.Microsecond) / float64(step)))
	if buckets > maxBuckets {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"The time interval would give %d counts; at most %d are answered.", buckets, maxBuckets))
	}
	list := &orchv1.EventCountList{}
	for i := range max(buckets, 0) {
		start := since.Add(time.Duration(i) * step)
		n, err := s.countWithin(ctx, ws, filter, start, start.Add(step), until)
		if err != nil {
			return nil, err
		}
		list.Counts = append(list.Counts, &orchv1.EventCount{
			Value: strconv.FormatInt(i, 10), Label: start.Format(time.RFC3339Nano), Count: n,
			StartTime: timestamppb.New(start), EndTime: timestamppb.New(start.Add(step)),
		})
	}
	return list, nil
}

// countWithin counts the events from start on and before end, as far as the range of the filter goes. Each stretch is
// counted by itself: an index does that without looking at events, which it could not group.
func (s *Service) countWithin(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, start, end, until time.Time) (int64, error) {
	last := end.Add(-time.Microsecond)
	if last.After(until) {
		last = until
	}
	within := proto.CloneOf(filter)
	within.Occurred = &orchv1.EventOccurredFilter{Since: timestamppb.New(start), Until: timestamppb.New(last)}
	compiled, err := s.compile(ws, within)
	if err != nil {
		return 0, err
	}
	return s.events.Count(ctx, ws, compiled)
}
