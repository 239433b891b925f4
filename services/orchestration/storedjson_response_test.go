package orchestration_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// JSON handlers of task runs and logs append the JSON of the messages that Call returns.
func TestJSONOfTaskRunsAndLogs(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.run(d.flow("encoded"))
	var last *orchv1.TaskRun
	for i, state := range []orchv1.StateType{ // Runs in these states show no time that depends on the clock.
		stCompleted, stFailed, orchv1.StateType_STATE_TYPE_CANCELLED,
	} {
		last = d.task(flowRun, string(rune('a'+i)), func(c *orchv1.TaskRunCreate) {
			c.Tags = []string{"é", "<"}
			c.State = &orchv1.StateCreate{Type: state, Message: new("\"done\"")}
		})
	}
	d.say(flowRun.GetId(), time.Date(2026, 11, 23, 12, 0, 0, 123456000, time.UTC), "plain", "<é\n\">", "")

	for method, r := range map[string]proto.Message{
		orchv1.TaskRunService_ReadTaskRuns_FullMethodName: &orchv1.ReadTaskRunsRequest{Query: &orchv1.TaskRunQuery{}},
		orchv1.TaskRunService_ListTaskRuns_FullMethodName: &orchv1.ListTaskRunsRequest{},
		orchv1.TaskRunService_ReadTaskRun_FullMethodName:  &orchv1.ReadTaskRunRequest{Id: last.GetId()},
		orchv1.LogService_ReadLogs_FullMethodName:         &orchv1.ReadLogsRequest{Query: &orchv1.LogQuery{}},
	} {
		message := call[proto.Message](d, method, r)
		want, err := restjson.Marshal(message)
		if fields := message.ProtoReflect().Descriptor().Fields(); fields.Len() == 1 { // A list is the array itself.
			require.Equal(t, 3, message.ProtoReflect().Get(fields.Get(0)).List().Len(), method)
			want, err = restjson.AppendField(nil, message.ProtoReflect(), fields.Get(0))
		}
		require.NoError(t, err)
		body, response, _, err := d.CallJSON(in(t, request.DefaultWorkspace), method, r, []byte("before"))
		require.NoError(t, err)
		require.Nil(t, response, method)
		require.Equal(t, "before"+string(want), string(body), method)
	}

	for _, r := range []*orchv1.ReadTaskRunRequest{{Id: uuid.NewString()}, {Id: "no id"}} {
		body, response, _, err := d.CallJSON(in(t, request.DefaultWorkspace), orchv1.TaskRunService_ReadTaskRun_FullMethodName, r, nil)
		require.Nil(t, response)
		require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
		require.Empty(t, body)
	}
}
