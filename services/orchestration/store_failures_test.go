package orchestration_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// logBuffer collects log lines of concurrent writers.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lines returns those with a text.
func (b *logBuffer) lines(with string) (found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

// TestStoreFailures makes every command of the store fail as a server does whose primary steps down or that is too slow. Each
// call ends in 503 and one line of the log, and nothing is half-written afterwards.
func TestStoreFailures(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]struct {
		data    bson.D
		written bool // The write takes place all the same.
		short   bool // It is tested in the short form too: with a driver each failing command takes its whole time limit.
	}{
		"NotWritablePrimary":              {data: bson.D{{Key: "errorCode", Value: 10107}}},
		"PrimarySteppedDown":              {data: bson.D{{Key: "errorCode", Value: 189}}, short: true},
		"InterruptedDueToReplStateChange": {data: bson.D{{Key: "errorCode", Value: 11602}}},
		"MaxTimeMSExpired":                {data: bson.D{{Key: "errorCode", Value: 50}}, short: true},
		"closed connection":               {data: bson.D{{Key: "closeConnection", Value: true}}},
		"unconfirmed write": {
			data:    bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 91}, {Key: "errmsg", Value: "shutting down"}}}},
			written: true, short: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !failure.short {
				t.Skip("the short form leaves it out")
			}
			var log logBuffer
			d := newIdleDomain(t, slog.NewJSONHandler(&log, nil))
			flow := d.flow("f")
			run := d.run(flow)

			writes := bson.A{"insert", "update", "delete", "findAndModify"}
			reads := bson.A{"find", "count", "aggregate", "distinct"}
			calls := []struct {
				method  string
				request proto.Message
				fails   bson.A
			}{
				{orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "g"}}, writes},
				{
					orchv1.FlowRunService_CreateFlowRun_FullMethodName, // A new name would be stored before the run, and fail first.
					&orchv1.CreateFlowRunRequest{FlowRun: &orchv1.FlowRunCreate{FlowId: flow.GetId(), Name: run.GetName()}}, writes,
				},
				{
					orchv1.FlowRunService_SetFlowRunState_FullMethodName,
					&orchv1.SetFlowRunStateRequest{
						Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_RUNNING}},
					}, writes,
				},
				{
					orchv1.LogService_CreateLogs_FullMethodName,
					&orchv1.CreateLogsRequest{Logs: []*orchv1.LogCreate{{Name: "l", Message: "m", Timestamp: timestamppb.Now(), FlowRunId: new(run.GetId())}}}, writes,
				},
				{orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()}, reads},
				{orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}, reads},
				{orchv1.FlowRunService_CountFlowRuns_FullMethodName, &orchv1.CountFlowRunsRequest{Query: &orchv1.FlowRunCountQuery{}}, reads},
			}
			failed := 0
			for _, c := range calls {
				t.Run(c.method, func(t *testing.T) {
					if failure.written && c.fails[0] != "insert" {
						return
					}
					d.store.FailCommands(t, "alwaysOn", append(bson.D{{Key: "failCommands", Value: c.fails}}, failure.data...))
					_, _, err := try[proto.Message](d, c.method, c.request)
					code, text := status(err)
					require.Equal(t, 503, code, "%s: %s: %v", c.method, text, err)
					failed++
					lines := log.lines(c.method)
					require.Len(t, lines, 1, c.method)
					require.Contains(t, lines[0], `"level":"WARN"`)
				})
			}
			require.Len(t, log.lines(`"method"`), failed)
			d.store.FailCommands(t, "off", nil)
			d.start()
			d.consistent(flow, run, failure.written)
		})
	}
}

// consistent checks that each failed write took place completely or not at all: a run has its first event and its history, and a
// changed state has them too.
func (d *domain) consistent(flow *orchv1.Flow, run *orchv1.FlowRun, written bool) {
	d.t.Helper()
	all := call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}).GetFlowRuns()
	want := 1
	if written {
		want = 2
	}
	require.Len(d.t, all, want)
	for _, r := range all {
		states := 1
		if written && r.GetId() == run.GetId() {
			states = 2
		}
		require.Equal(d.t, flow.GetId(), r.GetFlowId())
		eventually(d.t, func() bool {
			rows := d.count("flow_run_state", "flow_run_id", r.GetId())
			events := d.countText("event", "resource_id", "orch.flow-run."+r.GetId())
			return rows == int64(states) && events == int64(states)
		}, fmt.Sprintf("%d rows and events of run %s", states, r.GetId()))
	}
}

// count counts the stored documents whose field is an id.
func (d *domain) count(collection, field, id string) int64 {
	d.t.Helper()
	parsed, err := uuid.Parse(id)
	require.NoError(d.t, err)
	return d.countText(collection, field, bson.Binary{Subtype: bson.TypeBinaryUUID, Data: parsed[:]})
}

func (d *domain) countText(collection, field string, value any) int64 {
	d.t.Helper()
	n, err := d.store.Connect().Collection(collection).CountDocuments(d.t.Context(), bson.D{{Key: field, Value: value}})
	require.NoError(d.t, err)
	return n
}
