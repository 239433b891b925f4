package events

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// headers are the response headers of one call.
type headers struct {
	grpc.ServerTransportStream
	md metadata.MD
}

func (h *headers) SetHeader(md metadata.MD) error {
	h.md = metadata.Join(h.md, md)
	return nil
}

// countCapped is the header that tells where counting stopped; empty without one.
func (h *headers) countCapped() string {
	values := h.md.Get("orch-http-header-" + strings.ToLower(request.CountCappedHeader))
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func withHeaders(ctx context.Context) (context.Context, *headers) {
	h := &headers{}
	return grpc.NewContextWithServerTransportStream(ctx, h), h
}

// A total stops at a bound, and says so. It never is less than the page.
func TestTotalsStopAtTheirBounds(t *testing.T) {
	t.Parallel()
	s := New(Deps{Store: storetest.Embedded(t, clock.System{}), Vocabulary: vocabulary.Orch})
	w := newWorld(1000)
	w.fill(t, s, 1000) // As in TestNamesOfEvents; 100 of each flow, 10 of each run.
	s.totals = totalBounds{indexed: 400, tested: 30, read: 250}
	run := fmt.Sprintf("orch.flow-run.%s", w.runs[0])
	flow := fmt.Sprintf("orch.flow.%s", w.flows[0])
	for _, x := range []struct {
		filter string
		limit  int64
		want   int64
		capped bool
	}{
		{`{}`, 0, 400, true},
		{`{}`, 700, 700, true},
		{`{}`, 2000, 1000, false},
		{`{"event": {"name": ["orch.task-run.Running"]}}`, 0, 200, false},
		{`{"event": {"name": ["orch.task-run.Running"]}}`, 199, 199, true},
		{`{"event": {"prefix": ["orch.task-run."]}}`, 0, 400, true},
		{`{"resource": {"id": ["` + run + `"]}}`, 0, 10, false},
		{`{"resource": {"id_prefix": ["orch.task-run."]}}`, 0, 400, true},
		{`{"any_resource": {"id": ["` + flow + `"]}}`, 0, 100, false},
		{`{"related": {"id": ["` + flow + `"]}}`, 0, 100, false},
		// Few events are read, and the matches among them are counted.
		{`{"related": {"id": ["` + flow + `"], "role": ["flow"]}}`, 0, 30, true},
		{`{"related": {"id": ["` + flow + `"], "role": ["flow"]}}`, 100, 100, false},
		{`{"related": {"id": ["` + flow + `"], "role": ["nothing"]}}`, 0, 0, false},
		// Of many events the newest are read.
		{`{"related": {"role": ["flow"]}}`, 0, 30, true},
		{`{"related": {"role": ["flow"]}}`, 2000, 250, true},
		{`{"related": {"role": ["nothing"]}}`, 0, 0, true},
	} {
		t.Run(x.filter, func(t *testing.T) {
			q := &orchv1.EventQuery{Filter: &orchv1.EventFilter{}, Limit: 5}
			require.NoError(t, restjson.Unmarshal([]byte(x.filter), q.Filter), x.filter)
			if x.limit > 0 {
				q.TotalLimit = new(x.limit)
			}
			ctx, h := withHeaders(requesttest.Incoming(t, w.ws))
			page, err := s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: q})
			require.NoError(t, err, x.filter)
			require.Equal(t, x.want, page.GetTotal(), "%s %d", x.filter, x.limit)
			capped := ""
			if x.capped {
				capped = fmt.Sprint(x.want)
			}
			require.Equal(t, capped, h.countCapped(), "%s %d", x.filter, x.limit)
		})
	}
}

// A page of events that keys do not decide reads a bounded number of them. The pages together have each match once, in order, and the total
// says that it is not all.
func TestPagesReadUpToTheirEdge(t *testing.T) {
	t.Parallel()
	s := New(Deps{Store: storetest.Embedded(t, clock.System{}), Vocabulary: vocabulary.Orch})
	w := newWorld(1000)
	w.fill(t, s, 1000)
	s.totals = totalBounds{indexed: 400, tested: 30, read: 90}
	run := fmt.Sprintf("orch.flow-run.%s", w.runs[0])
	for _, x := range []struct {
		name, filter string
		capped       bool
	}{
		{"newest first", `{"resource": {"labels": {"orch.resource.id": "` + run + `"}}}`, true},
		{"oldest first", `{"resource": {"labels": {"orch.resource.id": "` + run + `"}}, "order": "ASC"}`, true},
		{"beside an id", `{"resource": {"id": ["` + run + `"], "labels": {"orch.resource.id": "` + run + `"}}}`, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			q := &orchv1.EventQuery{Filter: &orchv1.EventFilter{}, Limit: 3}
			require.NoError(t, restjson.Unmarshal([]byte(x.filter), q.Filter))
			ctx, h := withHeaders(requesttest.Incoming(t, w.ws))
			page, err := s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: q})
			require.NoError(t, err)
			require.Equal(t, x.capped, h.countCapped() != "")
			found := page.GetEvents()
			for page.NextPage != nil {
				next, err := url.Parse(page.GetNextPage())
				require.NoError(t, err)
				page, err = s.ReadEventsPage(requesttest.Incoming(t, w.ws), &orchv1.ReadEventsPageRequest{PageToken: next.Query().Get("page-token")})
				require.NoError(t, err)
				found = append(found, page.GetEvents()...)
			}
			require.Len(t, found, 10)
			require.EqualValues(t, 10, page.GetTotal())
			for i, e := range found[1:] {
				require.NotEqual(t, e.GetId(), found[i].GetId())
				require.Equal(t, q.GetFilter().GetOrder() == orchv1.EventOrder_EVENT_ORDER_ASC, found[i].GetOccurred().AsTime().Before(e.GetOccurred().AsTime()))
			}
		})
	}
}

// Reads of events wait for the other reads of their workspace, and those of other workspaces do not.
func TestReadsOfEventsShareWithTheirWorkspace(t *testing.T) {
	t.Parallel()
	s := New(Deps{Store: storetest.Embedded(t, clock.System{}), Vocabulary: vocabulary.Orch})
	w := newWorld(100)
	w.fill(t, s, 100)
	first, err := s.ReadEvents(requesttest.Incoming(t, w.ws), &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Limit: 5}})
	require.NoError(t, err)
	next, err := url.Parse(first.GetNextPage())
	require.NoError(t, err)
	token := next.Query().Get("page-token")
	reads := map[string]func(ctx context.Context) error{
		"first page": func(ctx context.Context) error {
			_, err := s.ReadEvents(ctx, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Limit: 5}})
			return err
		},
		"next page": func(ctx context.Context) error {
			_, err := s.ReadEventsPage(ctx, &orchv1.ReadEventsPageRequest{PageToken: token})
			return err
		},
		"scan": func(ctx context.Context) error {
			_, err := s.ScanEvents(ctx, &orchv1.ScanEventsRequest{Limit: 5})
			return err
		},
		"count": func(ctx context.Context) error {
			_, err := s.CountEvents(ctx, &orchv1.CountEventsRequest{Query: &orchv1.EventCountQuery{}, Countable: orchv1.Countable_COUNTABLE_EVENT})
			return err
		},
	}
	for taken := 0; ; taken++ { // Until no other read of the workspace begins.
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, end, err := s.begin(ended, w.ws)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.Positive(t, taken)
			break
		}
		t.Cleanup(end)
	}
	for name, read := range reads {
		ctx, cancel := context.WithCancel(requesttest.Incoming(t, w.ws))
		cancel()
		require.ErrorContains(t, read(ctx), "wait for other work", name)
		require.NoError(t, read(requesttest.Incoming(t, uuid.New())), name)
	}
}
