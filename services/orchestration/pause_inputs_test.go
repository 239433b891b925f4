package orchestration_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestAPauseBeginsWithoutInputs: the inputs of an earlier pause under its keys are gone when a run has paused again, also while the
// relay has not deleted them.
func TestAPauseBeginsWithoutInputs(t *testing.T) {
	t.Parallel()
	const accepted = orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
	keyset := &orchv1.StringMap{Values: map[string]string{"schema": "p-schema", "response": "p-response"}}
	for name, test := range map[string]struct {
		relayed bool
		key     string
		forced  bool
		status  orchv1.SetStateStatus
		left    []string
	}{
		"accepted, the deletion waits": {key: "2", status: accepted, left: []string{"other"}},
		"accepted, the deletion ran":   {relayed: true, key: "2", status: accepted, left: []string{"other"}},
		"rejected":                     {key: "1", status: orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, left: []string{"p-schema", "p-response", "other"}},
		"forced":                       {key: "2", forced: true, status: accepted, left: []string{"p-schema", "p-response", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newIdleDomain(t, slog.DiscardHandler)
			if test.relayed {
				d.start()
			}
			run := d.run(d.flow("etl"))
			d.setState(run, running)
			pause := func(key string, forced bool) orchv1.SetStateStatus {
				return call[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
					Id: run.GetId(), Transition: &orchv1.FlowRunTransition{Force: forced, State: &orchv1.StateCreate{
						Type: orchv1.StateType_STATE_TYPE_PAUSED, StateDetails: &orchv1.StateDetails{PauseKey: &key, RunInputKeyset: keyset},
					}},
				}).GetStatus()
			}
			input := func(key string) error {
				return second(try[*emptypb.Empty](d, orchv1.FlowRunInputService_CreateFlowRunInput_FullMethodName, &orchv1.CreateFlowRunInputRequest{
					Id: run.GetId(), Input: &orchv1.FlowRunInputCreate{Key: key, Value: "{}"},
				}))
			}
			inputs := func() []string {
				var keys []string
				for _, one := range call[*orchv1.FlowRunInputList](d, orchv1.FlowRunInputService_ReadFlowRunInputs_FullMethodName,
					&orchv1.ReadFlowRunInputsRequest{Id: run.GetId(), Query: &orchv1.FlowRunInputQuery{Limit: 9}}).GetInputs() {
					keys = append(keys, one.GetKey())
				}
				return keys
			}
			require.Equal(t, accepted, pause("1", false))
			for _, key := range []string{"p-schema", "p-response", "other"} {
				require.NoError(t, input(key))
			}
			d.setState(run, running)
			require.Equal(t, test.status, pause(test.key, test.forced))
			require.Equal(t, test.left, inputs())
			if len(test.left) == 1 {
				require.NoError(t, input("p-schema"), "the key is free for the next input")
				require.Equal(t, []string{"other", "p-schema"}, inputs())
			}
		})
	}
}
