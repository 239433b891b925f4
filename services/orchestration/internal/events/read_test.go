package events

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// Prefixes and exclusions are expanded to names, with the same result.
func TestNamesOfEvents(t *testing.T) {
	t.Parallel()
	s := New(Deps{Store: storetest.Embedded(t, clock.System{}), Vocabulary: vocabulary.Orch})
	w := newWorld(1000)
	w.fill(t, s, 1000) // 100 of flow runs, all Pending; of task runs 100 Pending, and 200 of each other name.
	for filter, want := range map[string]int64{
		`{}`:                             1000,
		`{"prefix": ["orch.flow-run."]}`: 100,
		`{"prefix": ["orch.flow-run.", "orch.task-run.P"]}`:                                                     200,
		`{"prefix": ["nothing."]}`:                                                                              0,
		`{"exclude_prefix": ["orch.flow-run."]}`:                                                                900,
		`{"exclude_prefix": ["orch."]}`:                                                                         0,
		`{"exclude_prefix": ["nothing."]}`:                                                                      1000,
		`{"exclude_name": ["orch.task-run.Running", "orch.task-run.Failed"]}`:                                   600,
		`{"prefix": ["orch.flow-run."], "exclude_name": ["orch.flow-run.Pending"]}`:                             0,
		`{"prefix": ["orch.task-run."], "exclude_name": ["orch.task-run.Pending"]}`:                             800,
		`{"name": ["orch.task-run.Running"]}`:                                                                   200,
		`{"name": ["orch.task-run.Running", "orch.flow-run.Pending"], "prefix": ["orch.flow-run."]}`:            100,
		`{"name": ["orch.task-run.Running"], "exclude_prefix": ["orch.task-run."]}`:                             0,
		`{"name": ["orch.task-run.Running", "orch.task-run.Failed"], "exclude_name": ["orch.task-run.Failed"]}`: 200,
	} {
		f := &orchv1.EventFilter{}
		require.NoError(t, restjson.Unmarshal([]byte(`{"event": `+filter+`}`), f), filter)
		page, err := s.ReadEvents(requesttest.Incoming(t, w.ws), &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Filter: f, Limit: maxPage}})
		require.NoError(t, err, filter)
		require.Equal(t, want, page.GetTotal(), filter)
		require.Len(t, page.GetEvents(), int(min(want, maxPage)), filter)
	}
}
