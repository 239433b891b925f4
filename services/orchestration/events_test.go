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
	filter.Occurred = &orchv1.EventOccurredFilter{Since: timestamppb.New(now.Add(-29 * time.Second)), Until: timestamppb.New(now)}
	byTime, err := d.counts(orchv1.Countable_COUNTABLE_TIME, &orchv1.EventCountQuery{
		Filter: filter, TimeUnit: orchv1.TimeUnit_TIME_UNIT_SECOND, TimeInterval: 10,
	})
	require.NoError(t, err)
	require.Len(t, byTime, 3)
	for _, c := range byTime {
		require.Equal(t, int64(10), c.GetCount())
	}

	byDay, err := d.counts(orchv1.Countable_COUNTABLE_DAY, &orchv1.EventCountQuery{Filter: testEvents()})
	require.NoError(t, err)
	require.Len(t, byDay, 181)

	_, err = d.counts(orchv1.Countable_COUNTABLE_TIME, &orchv1.EventCountQuery{
		Filter: testEvents(), TimeUnit: orchv1.TimeUnit_TIME_UNIT_SECOND, TimeInterval: 1,
	})
	code, text := status(err)
	require.Equal(t, 422, code)
	require.Contains(t, text, "at most 1000")
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
	for _, fault := range e.GetFieldErrors().GetErrors() {
		require.Equal(t, int64(1), fault.GetLoc()[1].GetIndex())
	}
}
