package quotas_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// passing are the rpcs with a 201 that the quota of stored bytes does not refuse by their method.
var passing = map[string]string{
	orchv1.WebhookService_CreateWebhook_FullMethodName:             "Begin checks it",
	orchv1.AutomationService_CreateAutomation_FullMethodName:       "Begin checks it",
	orchv1.DeploymentService_CreateDeployment_FullMethodName:       "Begin checks it, unless it is an update",
	orchv1.DeploymentService_ReplaceDeployment_FullMethodName:      "Begin checks it, unless it is an update",
	orchv1.BlockDocumentService_CreateBlockDocument_FullMethodName: "Begin checks it",

	orchv1.FlowService_CreateFlow_FullMethodName:                 "running runs ask for the flows of their subflows",
	orchv1.FlowService_ReplaceFlow_FullMethodName:                "an update",
	orchv1.VariableService_ReplaceVariable_FullMethodName:        "an update",
	orchv1.ArtifactService_CreateArtifact_FullMethodName:         "running runs create them",
	orchv1.ArtifactService_ReplaceArtifact_FullMethodName:        "running runs change them",
	orchv1.FlowRunInputService_CreateFlowRunInput_FullMethodName: "running runs wait for it",
	orchv1.FlowRunService_SetFlowRunState_FullMethodName:         "a state",
	orchv1.FlowRunService_ResumeFlowRun_FullMethodName:           "a state",
	orchv1.TaskRunService_SetTaskRunState_FullMethodName:         "a state",
	orchv1.TaskRunService_CreateTaskRun_FullMethodName:           "running runs create them",
	orchv1.LogService_CreateLogs_FullMethodName:                  "running runs create them",
}

// TestEveryCreationIsDecided: an rpc that creates something in a workspace is refused beyond the quota of stored bytes, or this table
// says why it is not.
func TestEveryCreationIsDecided(t *testing.T) {
	t.Parallel()
	for _, service := range openapi.Services() {
		for i := range service.Methods().Len() {
			md := service.Methods().Get(i)
			option := access.Option(md)
			name := "/" + string(service.FullName()) + "/" + string(md.Name())
			creates := option.GetStatus() == 201 || slices.Contains(option.GetAltStatus(), 201)
			if !creates || option.GetRealm() != orchv1.Realm_REALM_UNSPECIFIED {
				require.False(t, quotas.Creates(name), name)
				continue
			}
			_, passes := passing[name]
			require.NotEqual(t, passes, quotas.Creates(name), name)
		}
	}
}
