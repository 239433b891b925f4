package web

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// runStore answers the reads and deletions of runs, newest first.
type runStore struct {
	runs    []*orchv1.FlowRun
	deleted []string
}

func (s *runStore) read(request proto.Message) proto.Message {
	q := request.(*orchv1.ReadFlowRunsRequest).GetQuery()
	if ids := q.GetFlowRuns().GetId().GetAny_().GetValues(); len(ids) > 0 {
		return &orchv1.FlowRunList{}
	}
	before := q.GetFlowRuns().GetExpectedStartTime().GetBefore_().AsTime()
	matching := slices.DeleteFunc(slices.Clone(s.runs), func(r *orchv1.FlowRun) bool {
		return r.GetExpectedStartTime().AsTime().After(before) || slices.Contains(s.deleted, r.GetId())
	})
	from := min(int(q.GetOffset()), len(matching))
	return &orchv1.FlowRunList{FlowRuns: matching[from:min(from+int(q.GetLimit().GetValue()), len(matching))]}
}

func (s *runStore) remove(request proto.Message) proto.Message {
	answer := &orchv1.FlowRunBulkDeleteResponse{}
	for _, id := range request.(*orchv1.BulkDeleteFlowRunsRequest).GetQuery().GetFlowRuns().GetId().GetAny_().GetValues() {
		if !slices.Contains(s.deleted, id) && id[len(id)-1] != '7' { // The API keeps some.
			s.deleted, answer.Deleted = append(s.deleted, id), append(answer.Deleted, id)
		}
	}
	return answer
}

// TestBulkChangesAllThatMatch deletes a thousand runs, hundreds of which start at the same time. Some stay, and the change ends.
func TestBulkChangesAllThatMatch(t *testing.T) {
	t.Parallel()
	s := &runStore{}
	for i := range 1000 {
		s.runs = append(s.runs, &orchv1.FlowRun{
			Id: fmt.Sprintf("01890000-0000-7000-8000-%012d", i), Name: "run", ExpectedStartTime: at(time.Duration(i/450) * time.Minute),
		})
	}
	all := lists()
	all[orchv1.FlowRunService_ReadFlowRuns_FullMethodName] = s.read
	all[orchv1.FlowRunService_BulkDeleteFlowRuns_FullMethodName] = s.remove
	site := siteWith(t, &stub{answers: all}, nil)
	got := visit(t, site, "/runs?from=-2h", url.Values{"action": {"delete-all-runs"}, "confirm": {"yes"}, "total": {"1,000"}}).Body.String()
	got, forms := submitAll(t, site, got)
	require.Less(t, forms, 30)
	require.Contains(t, got, "Finished.")
	require.Contains(t, got, "900 changed")
	require.Len(t, s.deleted, 900)
}

// TestBulkChangesSkipRunsThatHaveMovedOn cancels all runs. The call names the states that the runs must still have.
func TestBulkChangesSkipRunsThatHaveMovedOn(t *testing.T) {
	t.Parallel()
	all := lists()
	all[orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName] = &orchv1.FlowRunBulkSetStateResponse{}
	s := &stub{answers: all}
	visit(t, siteWith(t, s, nil), "/runs?from=-2h", url.Values{"action": {"retry-all-runs"}, "confirm": {"yes"}, "total": {"1"}})
	sent := s.last[orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName].(*orchv1.BulkSetFlowRunStateRequest)
	require.NotContains(t, sent.GetTransition().GetFlowRuns().GetState().GetType().GetAny_().GetValues(), orchv1.StateType_STATE_TYPE_RUNNING)
	require.Len(t, sent.GetTransition().GetFlowRuns().GetState().GetType().GetAny_().GetValues(), 4)
}
