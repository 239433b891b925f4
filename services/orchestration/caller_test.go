package orchestration_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

func TestCallsNeedACallerWithKeys(t *testing.T) {
	t.Parallel()
	known := request.Caller{ID: uuid.New(), Actor: uuid.New()}
	for name, test := range map[string]struct {
		auth   string
		caller request.Caller
		want   codes.Code
	}{
		"keys, a caller":               {"keys", known, codes.OK},
		"keys, no caller":              {"keys", request.Caller{}, codes.Unauthenticated},
		"keys, a gateway without keys": {"keys", request.Caller{Unauthenticated: true}, codes.Unauthenticated},
		"no keys, the mark":            {"", request.Caller{Unauthenticated: true}, codes.OK},
		"no keys, no caller":           {"", request.Caller{}, codes.OK}, // A gateway of an earlier version sends no mark.
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDomain(t, func(c *orchestration.Config) { c.Auth = test.auth })
			ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace, Caller: test.caller})
			for method, in := range map[string]proto.Message{
				orchv1.FlowService_CreateFlow_FullMethodName:            &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "f"}},
				orchv1.CollectionService_ReadViewContent_FullMethodName: &orchv1.ReadViewContentRequest{View: "aggregate-worker-metadata"},
			} {
				_, _, err := d.Call(ctx, method, in)
				require.Equal(t, test.want, grpcstatus.Code(err), "%s: %v", method, err)
			}
			_, _, err := d.Call(t.Context(), orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "f"}})
			require.Error(t, err, "no metadata at all")
		})
	}
}
