package restjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func flowRun() *orchv1.FlowRun {
	now := &timestamppb.Timestamp{Seconds: 1795232502, Nanos: 549537000}
	id := func() *string { return proto.String(someID) }
	return &orchv1.FlowRun{
		Id: someID, Created: now, Updated: now, Name: "gentle-heron", FlowId: someID, StateId: id(), DeploymentId: id(),
		Parameters: []byte(`{"a":1,"b":[1,2,3],"c":"some text"}`), IdempotencyKey: proto.String("key"), Context: []byte(`{}`),
		EmpiricalPolicy: &orchv1.FlowRunPolicy{}, Tags: []string{"a", "b"},
		Labels:    map[string]*orchv1.Scalar{"orch.flow.id": {Kind: &orchv1.Scalar_StringValue{StringValue: someID}}},
		StateType: orchv1.StateType_STATE_TYPE_RUNNING.Enum(), StateName: proto.String("Running"), RunCount: 1,
		ExpectedStartTime: now, StartTime: now, TotalRunTime: 1.25,
		State: &orchv1.State{Id: someID, Type: orchv1.StateType_STATE_TYPE_RUNNING, Name: proto.String("Running"), Timestamp: now},
	}
}

const transition = `{"state":{"type":"RUNNING","name":"Running","message":null,"state_details":{"flow_run_id":"45cf673a-409a-436d-a7e8-10d23989a862",` +
	`"task_run_id":null,"scheduled_time":"2026-11-21T03:41:42.549537Z","transition_id":"45cf673a-409a-436d-a7e8-10d23989a862"},"data":null},"force":false}`

func BenchmarkEncodeFlowRun(b *testing.B) {
	m := flowRun()
	for name, encode := range map[string]func([]byte) ([]byte, error){
		"generated":  func(dst []byte) ([]byte, error) { return restjson.Append(dst, m) },
		"reflective": func(dst []byte) ([]byte, error) { return restjson.AppendReflect(dst, m) },
		"protojson":  func(dst []byte) ([]byte, error) { return protojson.MarshalOptions{}.MarshalAppend(dst, m) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				var err error
				dst, err = encode(dst[:0])
				require.NoError(b, err)
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkDecodeTransition(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(transition)))
	for b.Loop() {
		require.NoError(b, restjson.Unmarshal([]byte(transition), &orchv1.FlowRunTransition{}))
	}
}
