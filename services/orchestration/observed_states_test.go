package orchestration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// observed returns the observed states of a search, as "TYPE name".
func (d *domain) observed(query string, order orchv1.ObservedStateSort, limit int64) []string {
	d.t.Helper()
	var found []string
	for _, s := range call[*orchv1.ObservedStateList](d, orchv1.ObservedStateService_ReadObservedStates_FullMethodName,
		&orchv1.ReadObservedStatesRequest{Query: &query, OrderBy: order, Limit: limit}).GetStates() {
		require.False(d.t, s.GetLastSeen().AsTime().Before(s.GetFirstSeen().AsTime()))
		found = append(found, s.GetStateType()+" "+s.GetStateName())
	}
	return found
}

func TestObservedStates(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const byName, newest = orchv1.ObservedStateSort_OBSERVED_STATE_SORT_NAME_ASC, orchv1.ObservedStateSort_OBSERVED_STATE_SORT_LAST_SEEN_DESC
	require.Empty(t, d.observed("", byName, 200))

	run := d.run(d.flow("etl"))
	for _, name := range []string{"Running", "running", "100% done", "a_b"} {
		d.propose(run, &orchv1.StateCreate{Type: running, Name: &name})
	}
	task := d.task(run, "1")
	d.setTask(task, &orchv1.StateCreate{Type: running})
	d.setTask(task, &orchv1.StateCreate{Type: completed, Name: new("Crunched")})
	all := []string{"COMPLETED Crunched", "PENDING Pending", "RUNNING 100% done", "RUNNING Running", "RUNNING a_b", "RUNNING running"}
	eventually(t, func() bool { return len(d.observed("", byName, 200)) == len(all) }, "the histories are written")
	require.Equal(t, all, d.observed(" ", byName, 200), "of both kinds of runs, also states that no run has any more")
	require.Equal(t, all[:2], d.observed("", byName, 2))

	newestFirst := d.observed("", newest, 200)
	require.ElementsMatch(t, all, newestFirst)
	require.Equal(t, "COMPLETED Crunched", newestFirst[0])

	for query, want := range map[string][]string{
		"RUN": all[2:], " crunch ": all[:1], "100%": {"RUNNING 100% done"}, "a_": {"RUNNING a_b"}, "a%": nil, "unning": nil, "PENDING": {"PENDING Pending"},
	} {
		require.Equal(t, want, d.observed(query, byName, 200), strings.TrimSpace(query))
	}

	call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: run.GetId()})
	eventually(t, func() bool { return len(d.observed("", byName, 200)) == 0 }, "the states go with their runs")
}
