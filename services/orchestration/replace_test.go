package orchestration_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// An id is free as soon as its deletion was answered, whatever that one still causes.
func TestDeletedIDsAreFree(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("of-deployments").GetId()
	for name, c := range map[string]struct {
		put, delete string
		replace     func(id string) proto.Message
		remove      func(id string) proto.Message
	}{
		"flow": {
			orchv1.FlowService_ReplaceFlow_FullMethodName, orchv1.FlowService_DeleteFlow_FullMethodName,
			func(id string) proto.Message {
				return &orchv1.ReplaceFlowRequest{Id: id, Flow: &orchv1.FlowCreate{Name: "again"}}
			},
			func(id string) proto.Message { return &orchv1.DeleteFlowRequest{Id: id} },
		},
		"deployment": {
			orchv1.DeploymentService_ReplaceDeployment_FullMethodName, orchv1.DeploymentService_DeleteDeployment_FullMethodName,
			func(id string) proto.Message {
				return &orchv1.ReplaceDeploymentRequest{Id: id, Deployment: &orchv1.DeploymentCreate{Name: "again", FlowId: flow}}
			},
			func(id string) proto.Message { return &orchv1.DeleteDeploymentRequest{Id: id} },
		},
		"artifact": {
			orchv1.ArtifactService_ReplaceArtifact_FullMethodName, orchv1.ArtifactService_DeleteArtifact_FullMethodName,
			func(id string) proto.Message {
				return &orchv1.ReplaceArtifactRequest{Id: id, Artifact: &orchv1.ArtifactCreate{Key: new("again")}}
			},
			func(id string) proto.Message { return &orchv1.DeleteArtifactRequest{Id: id} },
		},
		"variable": {
			orchv1.VariableService_ReplaceVariable_FullMethodName, orchv1.VariableService_DeleteVariable_FullMethodName,
			func(id string) proto.Message {
				return &orchv1.ReplaceVariableRequest{Id: id, Variable: &orchv1.VariableCreate{Name: "again", Value: []byte("1")}}
			},
			func(id string) proto.Message { return &orchv1.DeleteVariableRequest{Id: id} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := uuid.NewString()
			for range 10 {
				_, reply, err := try[proto.Message](d, c.put, c.replace(id))
				require.NoError(t, err)
				require.Equal(t, http.StatusCreated, reply.Status)
				_, reply, err = try[proto.Message](d, c.put, c.replace(id))
				require.NoError(t, err)
				require.Zero(t, reply.Status, "there it is")
				_, _, err = try[*emptypb.Empty](d, c.delete, c.remove(id))
				require.NoError(t, err)
			}
		})
	}
}

// Runs that are created under the id of a deleted flow are not deleted with it.
func TestDeletionSparesWhatIsYounger(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	put := &orchv1.ReplaceFlowRequest{Id: id, Flow: &orchv1.FlowCreate{Name: "f"}}
	for range 5 {
		flow := call[*orchv1.Flow](d, orchv1.FlowService_ReplaceFlow_FullMethodName, put)
		for range 3 {
			d.run(flow)
		}
		call[*emptypb.Empty](d, orchv1.FlowService_DeleteFlow_FullMethodName, &orchv1.DeleteFlowRequest{Id: id})
	}
	flow := call[*orchv1.Flow](d, orchv1.FlowService_ReplaceFlow_FullMethodName, put)
	run := d.run(flow)
	count := func() int64 {
		return call[*orchv1.CountResponse](d, orchv1.FlowRunService_CountFlowRuns_FullMethodName, &orchv1.CountFlowRunsRequest{}).GetCount()
	}
	require.Equal(t, int64(1), count(), "those of the deleted flows are gone")
	require.Equal(t, run.GetId(), d.readRun(run.GetId()).GetId())
}
