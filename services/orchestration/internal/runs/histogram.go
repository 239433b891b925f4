package runs

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// maxBuckets bounds a response; later buckets are omitted.
const maxBuckets = 500

// Span is a time range that is divided into intervals.
type Span struct {
	Start, End time.Time
	Interval   time.Duration
}

// NewSpan parses a span; the interval is in seconds, at least 1.
func NewSpan(start, end *timestamppb.Timestamp, interval float64) (Span, error) {
	if !(interval >= 1) {
		return Span{}, rpc.Detail(http.StatusUnprocessableEntity, "History interval must not be less than 1 second.")
	}
	// An interval that exceeds time.Duration is longer than any span of times.
	length := time.Duration(1<<63 - 1)
	if micros := interval * 1e6; micros < float64(length.Microseconds()) {
		length = time.Duration(micros) * time.Microsecond
	}
	return Span{Start: start.AsTime(), End: end.AsTime(), Interval: length}, nil
}

// starts returns the start times of the buckets.
func (s Span) starts() []time.Time {
	var starts []time.Time
	for at := s.Start; at.Before(s.End) && len(starts) < maxBuckets; at = at.Add(s.Interval) {
		starts = append(starts, at)
	}
	return starts
}

// lastMoment is the latest timestamp of the contract.
var lastMoment = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)

// after returns the end of the bucket that starts then.
func (s Span) after(start time.Time) time.Time {
	if end := start.Add(s.Interval); end.Before(lastMoment) {
		return end
	}
	return lastMoment
}

// hourly reports whether every bucket is a number of whole hours.
func (s Span) hourly() bool {
	return s.Interval%time.Hour == 0 && s.Start.Equal(s.Start.Truncate(time.Hour))
}

// Buckets counts the selected runs by expected start time and present state in the buckets of the span. Runs without a state are not
// counted, and buckets without runs are included. Hour totals, which may be nil, answer buckets of whole hours.
//
//	start          start+interval        …                    end
//	├───────────────┼───────────────┼───────────────┼──────────┴────┤
//	 COMPLETED 12    COMPLETED 9     (no runs)       SCHEDULED 3
//	 FAILED 1
func Buckets(ctx context.Context, runs *query.Selection, totals *hourtotals.Totals, span Span, now time.Time) (*orchv1.HistoryList, error) {
	list := &orchv1.HistoryList{}
	starts := span.starts()
	if len(starts) == 0 {
		return list, nil
	}
	for _, at := range starts {
		list.History = append(list.History, &orchv1.HistoryResponse{
			IntervalStart: timestamppb.New(at), IntervalEnd: timestamppb.New(span.after(at)),
		})
	}
	windows := []hourtotals.Window{{From: span.Start.UnixMicro(), Until: span.after(starts[len(starts)-1]).UnixMicro()}}
	if totals != nil && span.hourly() {
		var err error
		if windows, err = addHours(ctx, list, runs, totals, windows[0], span, now); err != nil {
			return nil, err
		}
	}
	for _, window := range windows {
		err := runs.Aggregate(ctx, expectedWithin(window), stages(span, now), func(raw bson.Raw) error {
			var r row
			if err := bson.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("read a row of a history: %w", err)
			}
			if number := int(r.Group.Bucket); r.Group.Type != "" && number >= 0 && number < len(list.History) {
				add(list.History[number], r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, bucket := range list.History {
		slices.SortFunc(bucket.States, func(a, b *orchv1.HistoryResponseState) int {
			return cmp.Or(cmp.Compare(a.GetStateType(), b.GetStateType()), strings.Compare(a.GetStateName(), b.GetStateName()))
		})
	}
	return list, nil
}

// expectedWithin is the filter of the runs of a window.
func expectedWithin(w hourtotals.Window) bson.D {
	return bson.D{{Key: "expected_start_time", Value: bson.D{{Key: "$gte", Value: w.From}, {Key: "$lt", Value: w.Until}}}}
}

// addHours adds the rows of counted hours to their buckets, and returns the windows of all other runs.
func addHours(
	ctx context.Context, list *orchv1.HistoryList, runs *query.Selection, totals *hourtotals.Totals, window hourtotals.Window, span Span, now time.Time,
) ([]hourtotals.Window, error) {
	filter, complete := runs.Filter()
	encoded, err := bson.Marshal(append(filter, expectedWithin(window)...))
	if err != nil {
		return nil, fmt.Errorf("encode a filter: %w", err)
	}
	q, decided := hourtotals.Parse(query.FlowRun, encoded)
	if !complete || !decided {
		return []hourtotals.Window{window}, nil
	}
	return totals.Visit(ctx, q, now, func(h hourtotals.Hour, counted hourtotals.Row) {
		if counted.State == nil {
			return
		}
		r := row{Count: counted.Count, RunTime: counted.RunTime(h, now), Lateness: counted.Lateness(h, now)}
		r.Group.Type = *counted.State
		if counted.Name != nil {
			r.Group.Name = *counted.Name
		}
		add(list.History[(h.Start()-window.From)/span.Interval.Microseconds()], r)
	})
}

// add adds a row to its bucket; rows of one state may come several times.
func add(bucket *orchv1.HistoryResponse, r row) {
	kind := rules.StateType(r.Group.Type)
	i := slices.IndexFunc(bucket.States, func(s *orchv1.HistoryResponseState) bool {
		return s.GetStateType() == kind && s.GetStateName() == r.Group.Name
	})
	if i < 0 {
		i = len(bucket.States)
		bucket.States = append(bucket.States, &orchv1.HistoryResponseState{StateType: kind, StateName: r.Group.Name})
	}
	bucket.States[i].CountRuns += r.Count
	bucket.States[i].SumEstimatedRunTime += r.RunTime
	bucket.States[i].SumEstimatedLateness += r.Lateness
}
