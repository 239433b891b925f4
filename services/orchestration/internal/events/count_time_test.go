package events

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	return m
}

// counted is a service with events at these times, of resources with these names; it is Wednesday, 11 March.
func counted(t *testing.T, named map[string]string) (*Service, uuid.UUID) {
	t.Helper()
	s, ws := New(Deps{Store: storetest.Embedded(t, clock.NewManual(moment(t, "2026-03-11T12:30:00Z"))), Vocabulary: vocabulary.Orch}), uuid.New()
	var docs []bson.Raw
	for occurred, name := range named {
		labels := map[string]string{"orch.resource.id": "thing"}
		if name != "" {
			labels["orch.resource.name"] = name
		}
		doc, err := new(documents).add(s, ws, &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "test", Occurred: timestamppb.New(moment(t, occurred)), Received: timestamppb.New(moment(t, occurred)),
			Resource: &orchv1.Resource{Labels: labels}, ResourceId: "thing", ResourceIds: []string{"thing"},
		})
		require.NoError(t, err)
		docs = append(docs, doc)
	}
	require.NoError(t, s.events.InsertNew(t.Context(), docs))
	return s, ws
}

// Buckets do not depend on the range: their origin is one Monday. Only events of the range are counted.
func TestBucketsOfTime(t *testing.T) {
	t.Parallel()
	s, ws := counted(t, map[string]string{
		"2026-03-02T00:00:00Z": "", "2026-03-08T23:59:59.999999Z": "", "2026-03-09T00:00:00Z": "", "2026-03-11T12:00:00.5Z": "",
	})
	type bucket struct {
		value, label, end string
		n                 int64
	}
	const (
		week, day = orchv1.TimeUnit_TIME_UNIT_WEEK, orchv1.TimeUnit_TIME_UNIT_DAY
		second    = orchv1.TimeUnit_TIME_UNIT_SECOND
	)
	for name, c := range map[string]struct {
		unit         orchv1.TimeUnit
		interval     float64
		since, until string
		want         []bucket
	}{
		"weeks begin on Mondays": {week, 1, "2026-03-04T00:00:00Z", "2026-03-10T00:00:00Z", []bucket{
			{"0", "2026-03-02T00:00:00+00:00", "2026-03-08T23:59:59.999999Z", 1},
			{"1", "2026-03-09T00:00:00+00:00", "2026-03-15T23:59:59.999999Z", 1},
		}},
		"days, as far as now": {day, 1, "2026-03-10T00:00:00Z", "2026-03-20T00:00:00Z", []bucket{
			{"0", "2026-03-10T00:00:00+00:00", "2026-03-10T23:59:59.999999Z", 0},
			{"1", "2026-03-11T00:00:00+00:00", "2026-03-11T23:59:59.999999Z", 1},
		}},
		"a fraction": {second, 2.5, "2026-03-11T12:00:00Z", "2026-03-11T12:00:04Z", []bucket{
			{"0", "2026-03-11T12:00:00+00:00", "2026-03-11T12:00:02.499999Z", 1},
			{"1", "2026-03-11T12:00:02.500000+00:00", "2026-03-11T12:00:04.999999Z", 0},
		}},
		"the same, begun later": {second, 2.5, "2026-03-11T12:00:03Z", "2026-03-11T12:00:04Z", []bucket{
			{"0", "2026-03-11T12:00:02.500000+00:00", "2026-03-11T12:00:04.999999Z", 0},
		}},
		"before the first Monday": {day, 2, "2024-03-31T00:00:00Z", "2024-03-31T12:00:00Z", []bucket{
			{"0", "2024-03-30T00:00:00+00:00", "2024-03-31T23:59:59.999999Z", 0},
		}},
		"a range that ends before it begins": {day, 1, "2026-03-10T00:00:00Z", "2026-03-09T00:00:00Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.CountEvents(requesttest.Incoming(t, ws), &orchv1.CountEventsRequest{
				Countable: orchv1.Countable_COUNTABLE_TIME,
				Query: &orchv1.EventCountQuery{TimeUnit: c.unit, TimeInterval: c.interval, Filter: &orchv1.EventFilter{
					Occurred: &orchv1.EventOccurredFilter{Since: timestamppb.New(moment(t, c.since)), Until: timestamppb.New(moment(t, c.until))},
				}},
			})
			require.NoError(t, err, name)
			var found []bucket
			for _, b := range list.GetCounts() {
				found = append(found, bucket{b.GetValue(), b.GetLabel(), b.GetEndTime().AsTime().Format(time.RFC3339Nano), b.GetCount()})
			}
			require.Equal(t, c.want, found, name)
		})
	}
}

func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	s, ws := counted(t, nil)
	count := func(since string, interval float64) error {
		_, err := s.CountEvents(requesttest.Incoming(t, ws), &orchv1.CountEventsRequest{
			Countable: orchv1.Countable_COUNTABLE_TIME,
			Query: &orchv1.EventCountQuery{TimeUnit: orchv1.TimeUnit_TIME_UNIT_SECOND, TimeInterval: interval, Filter: &orchv1.EventFilter{
				Occurred: &orchv1.EventOccurredFilter{Since: timestamppb.New(moment(t, since)), Until: timestamppb.New(moment(t, "2026-03-11T12:00:00Z"))},
			}},
		})
		return err
	}
	require.NoError(t, count("2026-03-11T11:43:20Z", 1))
	require.Contains(t, rpc.HTTPError(count("2026-03-11T11:43:19.999999Z", 1)).GetDetail(), "1001 buckets")
	require.NoError(t, count("2026-03-11T11:43:20Z", 3e9))
	require.Equal(t, int32(422), rpc.HTTPError(count("0001-01-01T00:00:00Z", 1e300)).GetStatus())
}

// The name of a resource is that of its last event.
func TestResourcesAreCountedUnderTheirLastName(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{"new": "new", "": "thing"} {
		s, ws := counted(t, map[string]string{"2026-03-02T00:00:00Z": "old", "2026-03-03T00:00:00Z": "zz", "2026-03-04T00:00:00Z": last})
		list, err := s.CountEvents(requesttest.Incoming(t, ws), &orchv1.CountEventsRequest{
			Countable: orchv1.Countable_COUNTABLE_RESOURCE, Query: &orchv1.EventCountQuery{},
		})
		require.NoError(t, err)
		require.Len(t, list.GetCounts(), 1)
		require.Equal(t, want, list.GetCounts()[0].GetLabel())
		require.Equal(t, int64(3), list.GetCounts()[0].GetCount())
	}
}
