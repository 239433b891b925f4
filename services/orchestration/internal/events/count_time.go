package events

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxBuckets bounds the response of a count by time.
	maxBuckets = 1000
	// longestStep is some 4,500 years, in microseconds; the current bucket then still ends within the calendar.
	longestStep = 1 << 57
)

// pivot is the origin of the buckets. It does not depend on the range, so buckets of one length are the same in every
// response. It is a Monday, because weeks begin on Mondays.
var pivot = time.Date(2024, time.April, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

var unitLength = map[orchv1.TimeUnit]time.Duration{
	orchv1.TimeUnit_TIME_UNIT_WEEK:   7 * 24 * time.Hour,
	orchv1.TimeUnit_TIME_UNIT_DAY:    24 * time.Hour,
	orchv1.TimeUnit_TIME_UNIT_HOUR:   time.Hour,
	orchv1.TimeUnit_TIME_UNIT_MINUTE: time.Minute,
	orchv1.TimeUnit_TIME_UNIT_SECOND: time.Second,
}

// countByTime divides time into buckets of equal length and counts those that overlap the range, also without events.
// It omits future buckets except the rest of the current unit.
func (s *Service) countByTime(
	ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, unit orchv1.TimeUnit, interval float64,
) (*orchv1.EventCountList, error) {
	since, until := filter.GetOccurred().GetSince().AsTime().UnixMicro(), filter.GetOccurred().GetUntil().AsTime().UnixMicro()
	length := unitLength[unit].Microseconds()
	step := int64(min(math.Round(interval*float64(length)), longestStep))
	if step < 1 {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "The minimum interval is 0.01")
	}
	if n := math.Ceil(float64(until-since) / float64(step)); n > maxBuckets {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"The given interval would create %.0f buckets, which is too many. At most %d are answered: "+
				"take a longer interval or a shorter range.", n, maxBuckets))
	}
	end := until
	if now := s.events.Store().Now().UnixMicro(); end > now {
		end = bucketStart(now, length) + length - 1
	}
	list, first := &orchv1.EventCountList{}, bucketStart(since, step)
	if timestamppb.New(time.UnixMicro(first)).CheckValid() != nil {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, "The given interval is too long.")
	}
	for start := first; start < end; start += step {
		last := start + step - 1
		n, err := s.countWithin(ctx, ws, filter, max(start, since), min(last, until))
		if err != nil {
			return nil, err
		}
		from := time.UnixMicro(start).UTC()
		list.Counts = append(list.Counts, &orchv1.EventCount{
			Value: strconv.Itoa(len(list.Counts)), Label: withOffset(from), Count: n,
			StartTime: timestamppb.New(from), EndTime: timestamppb.New(time.UnixMicro(last)),
		})
	}
	return list, nil
}

// bucketStart returns the start of the bucket of a time, in microseconds.
func bucketStart(at, step int64) int64 {
	within := (at - pivot) % step
	if within < 0 {
		within += step
	}
	return at - within
}

// withOffset formats a time with an offset instead of Z. The reference does so only in this response.
func withOffset(at time.Time) string {
	if at.Nanosecond() == 0 {
		return at.Format("2006-01-02T15:04:05-07:00")
	}
	return at.Format("2006-01-02T15:04:05.000000-07:00")
}

// countWithin counts the events between two times in microseconds, both inclusive. Each bucket is counted separately:
// an index does that without reading events, which a group stage would read.
func (s *Service) countWithin(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, first, last int64) (int64, error) {
	within := proto.CloneOf(filter)
	within.Occurred = &orchv1.EventOccurredFilter{Since: timestamppb.New(time.UnixMicro(first)), Until: timestamppb.New(time.UnixMicro(last))}
	compiled, err := s.compile(ws, within)
	if err != nil {
		return 0, err
	}
	return s.events.Count(ctx, ws, store.Query{Filter: compiled})
}
