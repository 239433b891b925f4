package pages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestPageOfRuns pages through runs with duplicate times, for the sizes of which the API returns no further row too.
func TestPageOfRuns(t *testing.T) {
	t.Parallel()
	var all []*orchv1.FlowRun
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	for i := range 450 {
		all = append(all, &orchv1.FlowRun{ExpectedStartTime: timestamppb.New(now.Add(-time.Duration(i/3) * time.Second))})
	}
	for _, rows := range []int{1, 199, 200} {
		f := runFilter{Rows: rows}
		f.Window.To = now
		seen := 0
		for pages := 0; ; pages++ {
			require.Less(t, pages, 500)
			body := f.list()
			var read []*orchv1.FlowRun
			skip := body["offset"].(int)
			before := body["flow_runs"].(map[string]any)["expected_start_time"].(map[string]any)["before_"].(time.Time)
			for _, run := range all {
				if run.GetExpectedStartTime().AsTime().After(before) {
					continue
				}
				if skip--; skip < 0 && len(read) < body["limit"].(int) {
					read = append(read, run)
				}
			}
			shown, older := f.page(read)
			seen += len(shown)
			if f.Older = older; older.First() {
				break
			}
		}
		require.Equal(t, len(all), seen, "%d rows a page", rows)
	}
}
