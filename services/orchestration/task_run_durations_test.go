package orchestration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestTaskRunsByDuration: a running run counts up to now, and equal durations are ordered by start and id, the latest first.
func TestTaskRunsByDuration(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"))
	d.setState(run, running)
	begin := func(key string) *orchv1.TaskRun {
		task := d.task(run, key, func(c *orchv1.TaskRunCreate) { c.Name = key })
		d.setTask(task, &orchv1.StateCreate{Type: running})
		return task
	}
	begin("running")
	long := begin("long")
	d.setTask(begin("short"), &orchv1.StateCreate{Type: completed}) // Begins and ends while the long one runs.
	d.setTask(long, &orchv1.StateCreate{Type: completed})
	for _, key := range []string{"idle-1", "idle-2"} {
		d.task(run, key, func(c *orchv1.TaskRunCreate) { c.Name = key })
	}
	const longest, shortest = orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_DESC, orchv1.TaskRunSort_TASK_RUN_SORT_DURATION_ASC
	names := func(runs []*orchv1.TaskRun) string {
		var all []string
		for _, task := range runs {
			all = append(all, task.GetName())
		}
		return strings.Join(all, " ")
	}
	list := func(sort orchv1.TaskRunSort, offset, limit int64) string {
		return names(call[*orchv1.TaskRunList](d, orchv1.TaskRunService_ReadTaskRuns_FullMethodName, &orchv1.ReadTaskRunsRequest{
			Query: &orchv1.TaskRunQuery{Sort: sort, Offset: offset, Limit: &orchv1.PageLimit{Value: limit}},
		}).GetTaskRuns())
	}
	require.Equal(t, "running long short idle-2 idle-1", list(longest, 0, 200))
	require.Equal(t, "idle-2 idle-1 short long running", list(shortest, 0, 200))
	require.Equal(t, "short idle-2", list(longest, 2, 2))
	require.Empty(t, list(longest, 9, 2))
	require.Empty(t, list(longest, 0, 0))

	page := call[*orchv1.TaskRunPage](d, orchv1.TaskRunService_PaginateTaskRuns_FullMethodName, &orchv1.PaginateTaskRunsRequest{
		Query: &orchv1.TaskRunPageQuery{Sort: longest, Page: 2, Limit: &orchv1.PageLimit{Value: 2}},
	})
	require.Equal(t, []int64{5, 3, 2}, []int64{page.GetCount(), page.GetPages(), page.GetPage()})
	require.Len(t, page.GetResults(), 2)
	require.Equal(t, "short", page.GetResults()[0].GetName())
}
