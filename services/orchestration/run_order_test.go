package orchestration_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A priority that is no number, and a weight of 0, are refused by each request from which a run could inherit them.
func TestSettingsOfTheOrderAreChecked(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("f")
	deployment := d.deployment(flow)
	run, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{})
	require.NoError(t, err)
	for _, setting := range []struct{ json, text string }{
		{`{"orch.priority": "high"}`, `orch.priority is "high", not a whole number from 0 to 100`},
		{`{"orch.priority.nightly": 101}`, `orch.priority.nightly is 101, not a whole number from 0 to 100`},
		{`{"orch.weight": 0}`, `orch.weight is 0, not a whole number from 1 to 100`},
		{`{"orch.lateness": "never"}`, `orch.lateness is "never", not "keep" or "skip" or a whole number from 15 to 31622400`},
	} {
		variables, labels := []byte(setting.json), &orchv1.Labels{}
		require.NoError(t, restjson.Unmarshal(variables, labels))
		for name, request := range map[string]func() error{
			"a flow": func() error {
				_, _, err := try[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "g", Labels: labels}})
				return err
			},
			"a flow that is replaced": func() error {
				_, _, err := try[*orchv1.Flow](d, orchv1.FlowService_ReplaceFlow_FullMethodName,
					&orchv1.ReplaceFlowRequest{Id: uuid.NewString(), Flow: &orchv1.FlowCreate{Name: "g", Labels: labels}})
				return err
			},
			"labels of a deployment": func() error {
				_, _, err := d.tryDeployment(&orchv1.DeploymentCreate{Name: "e", FlowId: flow.GetId(), Labels: labels})
				return err
			},
			"job variables of a deployment": func() error {
				_, _, err := d.tryDeployment(&orchv1.DeploymentCreate{Name: "e", FlowId: flow.GetId(), JobVariables: variables})
				return err
			},
			"a change of a deployment": func() error {
				return d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{JobVariables: variables}, "job_variables")
			},
			"labels of a run": func() error {
				_, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{Labels: labels})
				return err
			},
			"job variables of a run": func() error {
				_, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{JobVariables: variables})
				return err
			},
			"a change of a run": func() error {
				_, _, err := try[*emptypb.Empty](d, orchv1.FlowRunService_UpdateFlowRun_FullMethodName, &orchv1.UpdateFlowRunRequest{
					Id: run.GetId(), FlowRun: &orchv1.FlowRunUpdate{JobVariables: variables}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"job_variables"}},
				})
				return err
			},
			"new labels of a run": func() error {
				_, _, err := try[*emptypb.Empty](d, orchv1.FlowRunService_UpdateFlowRunLabels_FullMethodName,
					&orchv1.UpdateFlowRunLabelsRequest{Id: run.GetId(), Labels: variables})
				return err
			},
			"an automation": func() error {
				_, err := d.tryAutomation(fmt.Sprintf(`{"name":"a","trigger":{"type":"event","posture":"Reactive"},
					"actions":[{"type":"run-deployment","deployment_id":%q,"job_variables":%s}]}`, deployment.GetId(), setting.json))
				return err
			},
		} {
			t.Run(setting.json+"/"+name, func(t *testing.T) {
				e := rpc.HTTPError(request())
				require.Equal(t, int32(http.StatusUnprocessableEntity), e.GetStatus())
				list := e.GetFieldErrors().GetErrors()
				require.Len(t, list, 1)
				require.Contains(t, list[0].GetMsg(), setting.text)
			})
		}
	}
}
