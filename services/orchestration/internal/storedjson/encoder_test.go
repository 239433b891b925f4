package storedjson_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/storedjson"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestUnusualDocumentsAreEncodedByTheirMessages(t *testing.T) {
	t.Parallel()
	runs := store.NewCollection(storetest.New(t, clock.System{}), query.TaskRun, &orchv1.TaskRun{})
	presented := 0
	e := storedjson.OfRuns(runs, func(run *orchv1.TaskRun, _ time.Time) *orchv1.TaskRun {
		presented++
		run.EstimatedRunTime = 7
		return run
	})
	usual, err := store.NewDocument(uuid.New(), &orchv1.TaskRun{Id: uuid.NewString(), TaskKey: "key", DynamicKey: "0"}, time.Time{})
	require.NoError(t, err)
	_, ok := e.Direct(nil, usual, time.Now())
	require.True(t, ok)
	var fields bson.D
	require.NoError(t, bson.Unmarshal(usual, &fields))
	twice, err := bson.Marshal(append(fields, bson.E{Key: "total_run_time", Value: 1.5}, bson.E{Key: "total_run_time", Value: 2.5}))
	require.NoError(t, err)
	_, ok = e.Direct(nil, twice, time.Now())
	require.False(t, ok, "a field that occurs twice")

	list, err := e.List([]byte("before"), func(visit func(bson.Raw) error) error {
		return errors.Join(visit(usual), visit(twice))
	})
	require.NoError(t, err)
	require.Equal(t, 1, presented)
	require.Equal(t, 2, strings.Count(string(list), `"task_key":"key"`))
	require.Contains(t, string(list), `},{`)
	require.True(t, strings.HasPrefix(string(list), `before[{`))

	broken, err := bson.Marshal(append(fields, bson.E{Key: "tags", Value: 1}))
	require.NoError(t, err)
	_, err = e.Append(nil, broken, time.Now())
	require.Error(t, err)
	_, err = e.List(nil, func(visit func(bson.Raw) error) error { return errors.Join(visit(usual), visit(broken)) })
	require.Error(t, err)

	empty, err := e.List(nil, func(func(bson.Raw) error) error { return nil })
	require.NoError(t, err)
	require.Equal(t, "[]", string(empty))
}
