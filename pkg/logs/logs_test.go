package logs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSplit(t *testing.T) {
	t.Parallel()
	const kibi = 1 << 10
	for name, c := range map[string]struct {
		sizes []int // KiB of each log's message.
		want  []int // How many logs each message of the feed has.
	}{
		"none":           {nil, nil},
		"one":            {[]int{1}, []int{1}},
		"together":       {[]int{1, 2, 3}, []int{3}},
		"one too many":   {[]int{500, 500, 500}, []int{2, 1}},
		"one very large": {[]int{1, 4000, 1}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*orchv1.Log
			for i, size := range c.sizes {
				all = append(all, &orchv1.Log{Level: int64(i), Message: strings.Repeat("x", size*kibi)})
			}
			messages, err := logs.Split(all)
			require.NoError(t, err, name)
			var got []int
			var levels []int64
			for _, message := range messages {
				read, err := logs.Read(message)
				require.NoError(t, err, name)
				got = append(got, len(read))
				for _, log := range read {
					levels = append(levels, log.GetLevel())
				}
			}
			require.Equal(t, c.want, got, name)
			for i, level := range levels {
				require.Equal(t, int64(i), level, name)
			}
		})
	}
	_, err := logs.Read([]byte("nonsense"))
	require.Error(t, err)
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	const run, task, other = "01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002", "01890000-0000-7000-8000-000000000003"
	log := &orchv1.Log{
		Name: "orch.flow_runs", Level: 20, Message: "Reading a FILE", Timestamp: &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: 123_456_789},
		FlowRunId: new(run),
	}
	for filter, want := range map[string]bool{
		`{}`:                     true,
		`{"level": {}}`:          true,
		`{"level": {"ge_": 20}}`: true,
		`{"level": {"ge_": 21}}`: false,
		`{"level": {"le_": 20}}`: true,
		`{"level": {"le_": 19}}`: false,
		`{"timestamp": {"after_": "2023-11-14T22:13:20.123456Z", "before_": "2023-11-14T22:13:20.123456Z"}}`: true,
		`{"timestamp": {"after_": "2023-11-14T22:13:20.123457Z"}}`:                                           false,
		`{"timestamp": {"before_": "2023-11-14T22:13:20.123455Z"}}`:                                          false,
		`{"flow_run_id": {"any_": ["` + other + `", "` + run + `"]}}`:                                        true,
		`{"flow_run_id": {"any_": ["` + other + `"]}}`:                                                       false,
		`{"flow_run_id": {"any_": []}}`:                                                                      false,
		`{"task_run_id": {"any_": ["` + task + `"]}}`:                                                        false,
		`{"task_run_id": {"is_null_": true}}`:                                                                true,
		`{"task_run_id": {"is_null_": false}}`:                                                               false,
		`{"text": {"query": "file"}}`:                                                                        true,
		`{"text": {"query": "nothing flow_runs"}}`:                                                           true,
		`{"text": {"query": "file -reading"}}`:                                                               false,
		`{"text": {"query": "+\"a file\" +flow"}}`:                                                           true,
		`{"text": {"query": "+file +nothing"}}`:                                                              false,
		`{"level": {"ge_": 20}, "text": {"query": "nothing"}}`:                                               false,
		`{"operator": "or_", "level": {"ge_": 20}, "text": {"query": "nothing"}}`:                            true,
		`{"operator": "or_", "level": {"ge_": 50}, "text": {"query": "nothing"}}`:                            false,
		`{"operator": "or_"}`:                                                                                true,
	} {
		f := &orchv1.LogFilter{}
		require.NoError(t, restjson.Unmarshal([]byte(filter), f), filter)
		require.Equal(t, want, logs.NewMatcher(f).Match(log), filter)
	}
	require.True(t, logs.NewMatcher(nil).Match(log))
}
