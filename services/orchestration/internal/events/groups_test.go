package events

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// A count over a million resources has the most frequent ones in memory, and no others.
func TestGroupsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	const groups = 1_000_000
	var kept mostFrequent
	for i := range groups {
		kept.add(&orchv1.EventCount{Value: fmt.Sprintf("%07d", i), Count: int64(1 + i%2*(i%4))})
		require.LessOrEqual(t, cap(kept.kept), 2*maxGroups)
	}
	require.True(t, kept.dropped)
	require.Len(t, kept.kept, maxGroups)
	for _, c := range kept.kept {
		require.EqualValues(t, 4, c.GetCount())
		require.Less(t, c.GetValue(), "0004000", "of equal counts the first values stay")
	}
}

// A count by resource returns the resources with most events, with their last names, and says that there are more. The events may be
// as large as they like: the count reads their fields.
func TestACountByResourceHasTheMostFrequentOnes(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := New(Deps{Store: storetest.New(t, now), Vocabulary: vocabulary.Orch, Retention: time.Hour})
	ws := uuid.New()
	var all []*orchv1.ReceivedEvent
	record := func(resource, name string, second int) {
		labels := map[string]string{"orch.resource.id": resource}
		if name != "" {
			labels["orch.resource.name"] = name
		}
		all = append(all, &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "e" + resource, Occurred: timestamppb.New(now.Now().Add(time.Duration(second) * time.Second)),
			Resource: &orchv1.Resource{Labels: labels}, Payload: []byte(`"` + strings.Repeat("<", 100) + `"`), ResourceId: resource,
		})
	}
	const resources = maxGroups + 200
	for i := range resources {
		record(fmt.Sprintf("r%04d", i), "", -5)
	}
	for i := range 3 {
		record("r1150", "name "+strconv.Itoa(i), -4+i)
	}
	_, err := store.InsertAll(t.Context(), s.events, ws, all)
	require.NoError(t, err)
	count := func(filter *orchv1.EventFilter, countable orchv1.Countable) []*orchv1.EventCount {
		ctx, headers := withHeaders(requesttest.Incoming(t, ws))
		list, err := s.CountEvents(ctx, &orchv1.CountEventsRequest{
			Countable: countable, Query: &orchv1.EventCountQuery{Filter: filter},
		})
		require.NoError(t, err)
		capped := ""
		if len(list.GetCounts()) == maxGroups {
			capped = strconv.Itoa(maxGroups)
		}
		require.Equal(t, capped, headers.countCapped())
		return list.GetCounts()
	}
	counts := count(nil, orchv1.Countable_COUNTABLE_RESOURCE)
	require.Len(t, counts, maxGroups)
	first := counts[0]
	require.Equal(t, []any{"r1150", "name 2", int64(4)}, []any{first.GetValue(), first.GetLabel(), first.GetCount()})
	require.Equal(t, 3*time.Second, first.GetEndTime().AsTime().Sub(first.GetStartTime().AsTime()))
	require.Equal(t, "r0000", counts[1].GetValue())
	require.Equal(t, "r0998", counts[maxGroups-1].GetValue())

	named := count(nil, orchv1.Countable_COUNTABLE_EVENT)
	require.Len(t, named, maxGroups)
	require.Equal(t, "er1150", named[0].GetValue())

	one := count(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{"er115"}}}}, orchv1.Countable_COUNTABLE_RESOURCE)
	require.Len(t, one, 10)
	require.Equal(t, "name 2", one[0].GetLabel())
}

// The pages of distinct resources have each resource once, by its first event in the order.
func TestPagesOfDistinctResources(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := New(Deps{Store: storetest.New(t, now), Vocabulary: vocabulary.Orch, Retention: time.Hour})
	ws := uuid.New()
	const resources, events = 25, 100
	for i := range events {
		resource := fmt.Sprintf("r%02d", i%resources)
		require.NoError(t, s.events.Insert(t.Context(), ws, &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "e", Occurred: timestamppb.New(now.Now().Add(-time.Duration(i) * time.Second)), ResourceId: resource,
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource, "n": strconv.Itoa(i)}},
		}))
	}
	ctx := requesttest.Incoming(t, ws)
	page, err := s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{
		Limit: 10, Filter: &orchv1.EventFilter{Resource: &orchv1.EventResourceFilter{Distinct: true}},
	}})
	require.NoError(t, err)
	var seen []string
	for {
		for _, e := range page.GetEvents() {
			seen = append(seen, e.GetResource().GetLabels()["n"])
		}
		if page.NextPage == nil {
			break
		}
		next, err := url.Parse(page.GetNextPage())
		require.NoError(t, err)
		page, err = s.ReadEventsPage(ctx, &orchv1.ReadEventsPageRequest{PageToken: next.Query().Get("page-token")})
		require.NoError(t, err)
	}
	var want []string
	for i := range resources {
		want = append(want, strconv.Itoa(i))
	}
	require.Equal(t, want, seen)
}

// The groups of a count, the digests of distinct resources and the events of a page are bounded in bytes.
func TestReadsOfEventsFillTheirBounds(t *testing.T) {
	t.Parallel()
	var kept mostFrequent
	long, n := strings.Repeat("<", 100_000), 0
	testkit.FillBound(t, "groups of a count of events", maxGroupBytes, func() bool {
		n++
		kept.add(&orchv1.EventCount{Value: strconv.Itoa(n) + long, Count: 1})
		return kept.dropped
	}, func() int { return len(kept.kept) * len(long) })

	seen := digests{}
	testkit.FillBound(t, "digests of the resources before a page of distinct ones", maxDigestBytes, func() bool {
		n++
		seen.add(strconv.Itoa(n))
		return seen.full()
	}, func() int { return len(seen) * digestSize })

	now := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := New(Deps{Store: storetest.New(t, now), Vocabulary: vocabulary.Orch, Retention: time.Hour})
	ws := uuid.New()
	var page *orchv1.EventPage
	read := func(query *orchv1.EventQuery) *orchv1.EventPage {
		page, err := s.ReadEvents(requesttest.Incoming(t, ws), &orchv1.ReadEventsRequest{Query: query})
		require.NoError(t, err)
		return page
	}
	stored := 0
	testkit.FillBound(t, "a page of events", maxPageBytes, func() bool {
		stored++
		resource := "r" + strconv.Itoa(stored)
		require.NoError(t, s.events.Insert(t.Context(), ws, &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "e", Occurred: timestamppb.New(now.Now()), Payload: []byte(`"` + strings.Repeat("<", 1_400_000) + `"`),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}}, ResourceId: resource,
		}))
		page = read(&orchv1.EventQuery{Limit: maxPage})
		return page.NextPage != nil
	}, func() (size int) {
		for _, e := range page.GetEvents() {
			size += proto.Size(e)
		}
		return size
	})
	next, err := url.Parse(page.GetNextPage())
	require.NoError(t, err)
	rest, err := s.ReadEventsPage(requesttest.Incoming(t, ws), &orchv1.ReadEventsPageRequest{PageToken: next.Query().Get("page-token")})
	require.NoError(t, err)
	require.Len(t, rest.GetEvents(), stored-len(page.GetEvents()))
	distinct := read(&orchv1.EventQuery{Limit: maxPage, Filter: &orchv1.EventFilter{Resource: &orchv1.EventResourceFilter{Distinct: true}}})
	require.Len(t, distinct.GetEvents(), len(page.GetEvents()))
	require.NotNil(t, distinct.NextPage)
	scanned, err := s.ScanEvents(requesttest.Incoming(t, ws), &orchv1.ScanEventsRequest{Limit: 250})
	require.NoError(t, err)
	require.Len(t, scanned.GetEvents(), len(page.GetEvents()))
}
