package orchestration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestCountsStopAtTheLimit: pages that show "10,000+" need no exact count, and its cost is bounded.
func TestCountsStopAtTheLimit(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const each = 3
	for i := range each {
		d.run(d.flow(fmt.Sprint("flow ", i)))
		d.webhook(fmt.Sprint("webhook ", i))
	}
	events := []*orchv1.Event{thing("a"), thing("b"), thing("c")}
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: events})
	eventually(t, func() bool { return d.events(testEvents()).GetTotal() == each }, "the events are stored")
	for name, c := range map[string]struct {
		method  string
		request func(limit *int64) proto.Message
	}{
		"flows": {orchv1.FlowService_CountFlows_FullMethodName, func(limit *int64) proto.Message {
			return &orchv1.CountFlowsRequest{Query: &orchv1.FlowCountQuery{Limit: limit}}
		}},
		"flow runs": {orchv1.FlowRunService_CountFlowRuns_FullMethodName, func(limit *int64) proto.Message {
			return &orchv1.CountFlowRunsRequest{Query: &orchv1.FlowRunCountQuery{Limit: limit}}
		}},
		"flows by runs": {orchv1.FlowService_CountFlows_FullMethodName, func(limit *int64) proto.Message {
			return &orchv1.CountFlowsRequest{Query: &orchv1.FlowCountQuery{FlowRuns: &orchv1.FlowRunFilter{}, Limit: limit}}
		}},
		"webhooks": {orchv1.WebhookService_CountWebhooks_FullMethodName, func(limit *int64) proto.Message {
			return &orchv1.CountWebhooksRequest{Query: &orchv1.WebhookCountQuery{Limit: limit}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			count := func(limit *int64) int64 {
				return call[*orchv1.CountResponse](d, c.method, c.request(limit)).GetCount()
			}
			require.EqualValues(t, each, count(nil), name)
			require.EqualValues(t, each-1, count(new(int64(each-1))), name)
			require.EqualValues(t, each, count(new(int64(each+1))), name)
		})
	}
	total := func(limit *int64, filter *orchv1.EventFilter) int64 {
		return call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName,
			&orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: filter, Limit: 1, TotalLimit: limit}}).GetTotal()
	}
	distinct := testEvents()
	distinct.Resource = &orchv1.EventResourceFilter{Distinct: true}
	for _, filter := range []*orchv1.EventFilter{testEvents(), distinct} {
		require.EqualValues(t, each, total(nil, filter))
		require.EqualValues(t, each-1, total(new(int64(each-1)), filter))
		require.EqualValues(t, each, total(new(int64(each+1)), filter))
	}
}
