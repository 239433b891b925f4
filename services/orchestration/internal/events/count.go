package events

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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
	compiled, err := s.compile(filter)
	if err != nil {
		return nil, err
	}
	switch r.GetCountable() {
	case orchv1.Countable_COUNTABLE_EVENT:
		return s.countByField(ctx, info.Workspace, compiled, "$event")
	case orchv1.Countable_COUNTABLE_RESOURCE:
		return s.countByField(ctx, info.Workspace, compiled, "$resource_id")
	case orchv1.Countable_COUNTABLE_DAY:
		return s.countByTime(ctx, info.Workspace, compiled, filter.GetOccurred(), unitLength[orchv1.TimeUnit_TIME_UNIT_DAY])
	}
	step := time.Duration(q.GetTimeInterval() * float64(unitLength[q.GetTimeUnit()]))
	return s.countByTime(ctx, info.Workspace, compiled, filter.GetOccurred(), step)
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

// countByField groups by a field, the most frequent first.
func (s *Service) countByField(ctx context.Context, ws uuid.UUID, compiled bson.D, field string) (*orchv1.EventCountList, error) {
	var rows []group
	err := s.events.Aggregate(ctx, ws, compiled, []bson.D{
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
func (s *Service) countByTime(ctx context.Context, ws uuid.UUID, compiled bson.D, occurred *orchv1.EventOccurredFilter, step time.Duration) (*orchv1.EventCountList, error) {
	since, until := occurred.GetSince().AsTime(), occurred.GetUntil().AsTime()
	if step < time.Microsecond {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "The time interval is too short.")
	}
	buckets := int64(math.Ceil(float64(until.Sub(since)+time.Microsecond) / float64(step)))
	if buckets > maxBuckets {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"The time interval would give %d counts; at most %d are answered.", buckets, maxBuckets))
	}
	var rows []struct {
		Bucket float64 `bson:"_id"`
		N      int64   `bson:"n"`
	}
	offset := bson.D{{Key: "$subtract", Value: bson.A{"$occurred", since.UnixMicro()}}}
	err := s.events.Aggregate(ctx, ws, compiled, []bson.D{
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: bson.D{{Key: "$floor", Value: bson.D{{Key: "$divide", Value: bson.A{offset, step.Microseconds()}}}}}},
			{Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
		}}},
	}, &rows)
	if err != nil {
		return nil, err
	}
	list := &orchv1.EventCountList{}
	for i := range max(buckets, 0) {
		start := since.Add(time.Duration(i) * step)
		list.Counts = append(list.Counts, &orchv1.EventCount{
			Value: strconv.FormatInt(i, 10), Label: start.Format(time.RFC3339Nano),
			StartTime: timestamppb.New(start), EndTime: timestamppb.New(start.Add(step)),
		})
	}
	for _, row := range rows {
		if i := int64(row.Bucket); i >= 0 && i < int64(len(list.Counts)) {
			list.Counts[i].Count = row.N
		}
	}
	return list, nil
}
