package orchestration_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// publish takes n events in, one second apart, the last one now; resource i has the id "thing.<i mod resources>".
func (d *domain) publish(n, resources int) time.Time {
	d.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	batch := make([]*orchv1.Event, n)
	for i := range batch {
		batch[i] = &orchv1.Event{
			Id: uuid.NewString(), Event: fmt.Sprintf("test.%d", i%2), Occurred: timestamppb.New(now.Add(time.Duration(i-n+1) * time.Second)),
			Resource: &orchv1.Resource{Labels: map[string]string{
				"orch.resource.id": fmt.Sprintf("thing.%d", i%resources), "orch.resource.name": fmt.Sprintf("Thing %d", i%resources),
			}},
			Payload: []byte(`{"n": 1.0}`),
		}
	}
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: batch})
	eventually(d.t, func() bool { return d.events(testEvents()).GetTotal() == int64(n) }, "all events are stored")
	return now
}

func testEvents() *orchv1.EventFilter {
	return &orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{"test."}}}}
}

func TestEventsArePagedWithoutGapOrRepetition(t *testing.T) {
	t.Parallel()
	for _, order := range []orchv1.EventOrder{orchv1.EventOrder_EVENT_ORDER_DESC, orchv1.EventOrder_EVENT_ORDER_ASC} {
		d := newDomain(t)
		d.publish(95, 7)
		filter := testEvents()
		filter.Order = order
		page := call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName,
			&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: 30}})
		seen := map[string]bool{}
		var last time.Time
		for pages := 1; ; pages++ {
			require.Equal(t, int64(95), page.GetTotal())
			for _, e := range page.GetEvents() {
				require.False(t, seen[e.GetId()])
				seen[e.GetId()] = true
				at := e.GetOccurred().AsTime()
				if !last.IsZero() {
					require.Equal(t, order == orchv1.EventOrder_EVENT_ORDER_ASC, at.After(last))
				}
				last = at
			}
			if page.NextPage == nil {
				require.Equal(t, 4, pages)
				break
			}
			require.True(t, strings.HasPrefix(page.GetNextPage(), "http://orch.test/api/events/filter/next?page-token="), page.GetNextPage())
			next, err := url.Parse(page.GetNextPage())
			require.NoError(t, err)
			page = call[*orchv1.EventPage](d, orchv1.EventService_ReadEventsPage_FullMethodName,
				&orchv1.ReadEventsPageRequest{PageToken: next.Query().Get("page-token")})
		}
		require.Len(t, seen, 95)
	}
}

func TestDistinctResources(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.publish(40, 7)
	filter := testEvents()
	filter.Resource = &orchv1.EventResourceFilter{Distinct: true}
	page := call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName,
		&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: 5}})
	require.Equal(t, int64(7), page.GetTotal())
	require.Len(t, page.GetEvents(), 5)
	next, err := url.Parse(page.GetNextPage())
	require.NoError(t, err)
	rest := call[*orchv1.EventPage](d, orchv1.EventService_ReadEventsPage_FullMethodName,
		&orchv1.ReadEventsPageRequest{PageToken: next.Query().Get("page-token")})
	require.Len(t, rest.GetEvents(), 2)
	require.Nil(t, rest.NextPage)
	seen := map[string]bool{}
	for _, e := range append(page.GetEvents(), rest.GetEvents()...) {
		seen[e.GetResource().GetLabels()["orch.resource.id"]] = true
	}
	require.Len(t, seen, 7)
}

func (d *domain) counts(countable orchv1.Countable, q *orchv1.EventCountQuery) ([]*orchv1.EventCount, error) {
	list, _, err := try[*orchv1.EventCountList](d, orchv1.EventService_CountEvents_FullMethodName, &orchv1.CountEventsRequest{Countable: countable, Query: q})
	return list.GetCounts(), err
}

func TestCountEvents(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	now := d.publish(30, 3)

	byName, err := d.counts(orchv1.Countable_COUNTABLE_EVENT, &orchv1.EventCountQuery{Filter: testEvents()})
	require.NoError(t, err)
	require.Len(t, byName, 2)
	require.Equal(t, int64(15), byName[0].GetCount())
	require.Equal(t, "test.0", byName[0].GetValue(), "equal counts are ordered by value")

	byResource, err := d.counts(orchv1.Countable_COUNTABLE_RESOURCE, &orchv1.EventCountQuery{Filter: testEvents()})
	require.NoError(t, err)
	require.Len(t, byResource, 3)
	require.Equal(t, "Thing 0", byResource[0].GetLabel())

	filter := testEvents()
	// A bucket that begins where the range ends is not of the range.
	filter.Occurred = &orchv1.EventOccurredFilter{
		Since: timestamppb.New(now.Add(-29 * time.Second)), Until: timestamppb.New(now.Add(time.Millisecond)),
	}
	byTime, err := d.counts(orchv1.Countable_COUNTABLE_TIME, &orchv1.EventCountQuery{
		Filter: filter, TimeUnit: orchv1.TimeUnit_TIME_UNIT_SECOND, TimeInterval: 10,
	})
	require.NoError(t, err)
	var all int64
	for _, c := range byTime {
		require.LessOrEqual(t, c.GetCount(), int64(10))
		all += c.GetCount()
	}
	require.Equal(t, int64(30), all)

	byDay, err := d.counts(orchv1.Countable_COUNTABLE_DAY, &orchv1.EventCountQuery{Filter: testEvents()})
	require.NoError(t, err)
	require.Len(t, byDay, 181)

	_, err = d.counts(orchv1.Countable_COUNTABLE_TIME, &orchv1.EventCountQuery{
		Filter: testEvents(), TimeUnit: orchv1.TimeUnit_TIME_UNIT_SECOND, TimeInterval: 1,
	})
	code, text := status(err)
	require.Equal(t, 422, code)
	require.Contains(t, text, "would create 15552000 buckets, which is too many")
}

func TestEventsThatAreNoneAreRefusedTogether(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	good := &orchv1.Event{
		Id: uuid.NewString(), Event: "test.0", Occurred: timestamppb.Now(),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "thing"}},
	}
	bad := &orchv1.Event{Id: uuid.NewString(), Event: strings.Repeat("x", 1025), Occurred: timestamppb.Now(), Resource: &orchv1.Resource{}}
	_, _, err := try[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: []*orchv1.Event{good, bad}})
	e := rpc.HTTPError(err)
	require.Equal(t, int32(422), e.GetStatus())
	require.GreaterOrEqual(t, len(e.GetFieldErrors().GetErrors()), 2)
	for _, fieldError := range e.GetFieldErrors().GetErrors() {
		require.Equal(t, int64(1), fieldError.GetLoc()[1].GetIndex())
	}
}

// A resource may be what an event happened to, a related one, or both.
func TestEventsAreCountedByWhatIsRelated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	labels := func(id string) map[string]string {
		return map[string]string{"orch.resource.id": id, "orch.resource.role": "r"}
	}
	var batch []*orchv1.Event
	for _, e := range []struct{ own, related string }{{"a", "b"}, {"a", "a"}, {"b", "a"}, {"c", "a"}, {"b", "c"}, {"b", "b"}, {"c", "c"}} {
		batch = append(batch, &orchv1.Event{
			Id: uuid.NewString(), Event: "test", Occurred: timestamppb.Now(), Resource: &orchv1.Resource{Labels: labels(e.own)},
			Related: []*orchv1.RelatedResource{{Labels: labels(e.related)}, {Labels: labels("d")}},
		})
	}
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: batch})
	related := func(id string) *orchv1.EventPage {
		return d.events(&orchv1.EventFilter{Related: &orchv1.EventRelatedFilters{Kind: &orchv1.EventRelatedFilters_Object{
			Object: &orchv1.EventRelatedFilter{Id: &orchv1.StringList{Values: []string{id}}},
		}}})
	}
	eventually(t, func() bool { return related("d").GetTotal() == 7 }, "all events are stored")
	for id, want := range map[string]int{"a": 3, "b": 2, "c": 2, "d": 7, "e": 0} {
		page := related(id)
		require.Len(t, page.GetEvents(), want, id)
		require.Equal(t, int64(want), page.GetTotal(), id)
	}
}

// The window is left out of counts only while no event lies outside of it.
func TestTotalsKeepToTheWindow(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	now := d.publish(20, 2)
	within := func(since, until time.Time) int64 {
		filter := testEvents()
		filter.Occurred = &orchv1.EventOccurredFilter{Since: timestamppb.New(since), Until: timestamppb.New(until)}
		return d.events(filter).GetTotal()
	}
	require.Equal(t, int64(20), within(now.Add(-time.Hour), now))
	require.Equal(t, int64(5), within(now.Add(-4*time.Second), now))
	require.Equal(t, int64(15), within(now.Add(-time.Hour), now.Add(-5*time.Second)))
	require.Equal(t, int64(0), within(now.Add(time.Hour), now.Add(2*time.Hour)))
}

func TestEventsByThePrefixOfAResource(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.publish(20, 4)
	filter := testEvents()
	filter.Resource = &orchv1.EventResourceFilter{IdPrefix: &orchv1.StringList{Values: []string{"thing.1", "thing.3"}}}
	page := call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName,
		&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: 3}})
	require.Equal(t, int64(10), page.GetTotal())
	require.Len(t, page.GetEvents(), 3)
	require.NotNil(t, page.NextPage)
	for i, e := range page.GetEvents() {
		require.Contains(t, []string{"thing.1", "thing.3"}, e.GetResource().GetLabels()["orch.resource.id"])
		if i > 0 {
			require.True(t, e.GetOccurred().AsTime().Before(page.GetEvents()[i-1].GetOccurred().AsTime()))
		}
	}
}
