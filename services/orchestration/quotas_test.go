package orchestration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// used returns what the default account uses of a quota.
func (d *domain) used(name string) *int64 {
	d.t.Helper()
	list := call[*orchv1.AccountQuotaList](d, orchv1.AccountService_ReadAccountQuotas_FullMethodName, &orchv1.ReadAccountQuotasRequest{})
	for _, q := range list.GetQuotas() {
		if q.GetName() == name {
			return q.Used
		}
	}
	require.Fail(d.t, "no such quota", name)
	return nil
}

// setQuotas sets the quotas of the default account that a mask names.
func (d *domain) setQuotas(quotas *orchv1.AccountQuotas, mask ...string) {
	d.t.Helper()
	call[*emptypb.Empty](d, orchv1.AccountService_UpdateAccountQuotas_FullMethodName, &orchv1.UpdateAccountQuotasRequest{
		AccountId: request.DefaultAccount.String(), Quotas: quotas, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask},
	})
}

// TestCreationsBeyondStoredBytesAreRefused: nothing new begins beyond the quota, and running runs continue.
func TestCreationsBeyondStoredBytesAreRefused(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.Timers.QuotaUsage = time.Millisecond })
	flow := call[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "f"}})
	start := func(parent *string) (*orchv1.FlowRun, error) {
		run, _, err := try[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{
			FlowRun: &orchv1.FlowRunCreate{FlowId: flow.GetId(), ParentTaskRunId: parent, State: &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_PENDING}},
		})
		return run, err
	}
	variable := func(name string) error {
		_, _, err := try[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName,
			&orchv1.CreateVariableRequest{Variable: &orchv1.VariableCreate{Name: name, Value: []byte(`"` + strings.Repeat("x", 4000) + `"`)}})
		return err
	}
	running, err := start(nil)
	require.NoError(t, err)
	require.NoError(t, variable("large"))
	require.Nil(t, d.used("stored_bytes"), "without a quota nothing is measured")

	d.setQuotas(&orchv1.AccountQuotas{StoredBytes: proto.Int64(4000)}, "stored_bytes")
	require.Eventually(t, func() bool { return variable("v"+strings.ReplaceAll(uuid.NewString(), "-", "_")) != nil }, time.Minute, 10*time.Millisecond)
	code, text := status(variable("refused"))
	require.Equal(t, 403, code)
	require.Contains(t, text, "quota of stored_bytes is 4000")
	_, err = start(nil)
	require.Error(t, err, "no new run")
	used := d.used("stored_bytes")
	require.NotNil(t, used)
	require.Greater(t, *used, int64(4000))

	call[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: running.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_RUNNING}},
	})
	task := call[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName,
		&orchv1.CreateTaskRunRequest{TaskRun: &orchv1.TaskRunCreate{FlowRunId: proto.String(running.GetId()), TaskKey: "k", DynamicKey: "0"}})
	_, err = start(proto.String(task.GetId()))
	require.NoError(t, err, "a subflow of a running run")
	call[*emptypb.Empty](d, orchv1.LogService_CreateLogs_FullMethodName, &orchv1.CreateLogsRequest{Logs: []*orchv1.LogCreate{
		{Name: "n", Level: 20, Message: "m", Timestamp: timestamppb.Now(), FlowRunId: proto.String(running.GetId())},
	}})

	d.setQuotas(&orchv1.AccountQuotas{}, "stored_bytes")
	require.Eventually(t, func() bool { return variable("again_"+strings.ReplaceAll(uuid.NewString(), "-", "_")) == nil }, time.Minute, 10*time.Millisecond)
}

// TestEstimatesOfStoredBytes: few documents are measured exactly, many by those at both ends of an index.
func TestEstimatesOfStoredBytes(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) {
		c.Timers.QuotaUsage = time.Millisecond
		c.Quotas.StoredBytes = 1 << 40
	})
	const flows, size = 600, 2000
	before := int64(0)
	require.Eventually(t, func() bool {
		used := d.used("stored_bytes")
		if used != nil {
			before = *used
		}
		return used != nil
	}, time.Minute, 10*time.Millisecond)
	for range flows {
		call[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{
			Name: uuid.NewString(), Tags: []string{strings.Repeat("x", size)},
		}})
	}
	require.Eventually(t, func() bool {
		grown := *d.used("stored_bytes") - before
		return grown > flows*size && grown < 3*flows*size // Events of the flows count too.
	}, time.Minute, 10*time.Millisecond)
}

// TestDeliveriesBeyondStoredBytesAreRefused: the copies of events for destinations are no way around the quota, and the owner hears of it.
func TestDeliveriesBeyondStoredBytesAreRefused(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.Timers.QuotaUsage = time.Millisecond })
	destination := call[*orchv1.Destination](d, orchv1.DestinationService_CreateDestination_FullMethodName, &orchv1.CreateDestinationRequest{
		Destination: &orchv1.DestinationCreate{
			Name: "warehouse", Url: "https://example.com", RetryFor: 60, Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"order.*"}}},
		},
	})
	deliveries := func() int {
		return len(call[*orchv1.DestinationDeliveryList](d, orchv1.DestinationService_ReadDestinationDeliveries_FullMethodName,
			&orchv1.ReadDestinationDeliveriesRequest{Id: destination.GetId()}).GetDeliveries())
	}
	d.emit("order.paid", "1")
	require.Eventually(t, func() bool { return deliveries() == 1 }, time.Minute, 10*time.Millisecond)
	d.setQuotas(&orchv1.AccountQuotas{StoredBytes: proto.Int64(1)}, "stored_bytes")
	require.Eventually(t, func() bool {
		_, _, err := try[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName,
			&orchv1.CreateVariableRequest{Variable: &orchv1.VariableCreate{Name: "v" + strings.ReplaceAll(uuid.NewString(), "-", "_"), Value: []byte(`1`)}})
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	d.emit("order.paid", "2")
	full := d.eventually("orch.destination.queue-full", 1)
	require.Contains(t, string(full[0].GetPayload()), "stored_bytes")
	require.Equal(t, 1, deliveries())
}
