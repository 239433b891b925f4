package flowruns

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Runs of every state, scheduled and started early and late, are encoded as Present and restjson encode them.
func TestStoredRunsAreEncodedAsPresented(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.clock.Now()
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(d)) }
	runs := []*orchv1.FlowRun{{}, {Labels: map[string]*orchv1.Scalar{
		"b": {Kind: &orchv1.Scalar_StringValue{StringValue: "\"\n"}}, "a.$": {Kind: &orchv1.Scalar_Number{Number: 1e20}},
		"c": {Kind: &orchv1.Scalar_Integer{Integer: -1}}, "": {Kind: &orchv1.Scalar_Boolean{Boolean: true}},
	}}}
	for kind := range orchv1.StateType_name {
		for _, expected := range []*timestamppb.Timestamp{nil, at(-time.Minute), at(time.Minute)} {
			for _, start := range []*timestamppb.Timestamp{nil, at(-time.Second)} {
				runs = append(runs, &orchv1.FlowRun{
					ExpectedStartTime: expected, StartTime: start, TotalRunTime: 1.5, Tags: []string{"é", "<"}, Parameters: []byte(`{"x":1}`),
					State: &orchv1.State{Id: uuid.NewString(), Type: orchv1.StateType(kind), Timestamp: at(-time.Hour), Message: new("m")},
				})
			}
		}
	}
	for _, run := range runs {
		run.Id, run.FlowId, run.Name = uuid.NewString(), uuid.NewString(), "run"
		if run.StartTime != nil {
			run.State.Name = new("Name")
		}
		doc, err := store.NewDocument(w.ws, run, time.Time{})
		if err != nil {
			require.Zero(t, run.GetState().GetType()) // It cannot be stored.
			continue
		}
		requireSameJSON(t, w.service, doc, now)
	}
}

// requireSameJSON requires that a document is encoded without a message, as by way of one.
func requireSameJSON(t require.TestingT, s *Service, doc bson.Raw, now time.Time) {
	run, err := s.runs.Decode(doc)
	require.NoError(t, err)
	want, failed := restjson.Marshal(Present(run, now))
	got, ok := s.encoder.Direct(nil, doc, now)
	require.Equal(t, failed == nil, ok, "%v", failed)
	if ok {
		require.Equal(t, string(want), string(got))
	}
}

// JSON handlers of flow runs append the JSON of the messages that the methods return.
func TestJSONOfFlowRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	local := rpc.NewLocal()
	w.service.RegisterJSON(local)
	ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: w.ws})
	incoming := requesttest.Incoming(t, w.ws)
	for range 3 {
		_, err := w.service.CreateFlowRun(incoming, &orchv1.CreateFlowRunRequest{FlowRun: &orchv1.FlowRunCreate{FlowId: w.flow.GetId()}})
		require.NoError(t, err)
	}
	list := &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}
	messages, err := w.service.ReadFlowRuns(incoming, list)
	require.NoError(t, err)
	require.Len(t, messages.GetFlowRuns(), 3)
	wantList, err := restjson.AppendField(nil, messages.ProtoReflect(), messages.ProtoReflect().Descriptor().Fields().ByName("flow_runs"))
	require.NoError(t, err)
	one := messages.GetFlowRuns()[0]
	wantOne, err := restjson.Marshal(one)
	require.NoError(t, err)
	tests := map[string]struct {
		method  string
		request proto.Message
		want    string
	}{
		"list":   {orchv1.FlowRunService_ListFlowRuns_FullMethodName, &orchv1.ListFlowRunsRequest{}, string(wantList)},
		"filter": {orchv1.FlowRunService_ReadFlowRuns_FullMethodName, list, string(wantList)},
		"one":    {orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: one.GetId()}, string(wantOne)},
	}
	for _, number := range []int64{0, 1, 2, 9} {
		page := &orchv1.PaginateFlowRunsRequest{Query: &orchv1.FlowRunPageQuery{Page: number, Limit: &orchv1.PageLimit{Value: 2}}}
		message, err := w.service.PaginateFlowRuns(incoming, page)
		require.NoError(t, err)
		require.EqualValues(t, 3, message.GetCount())
		want, err := restjson.Marshal(message)
		require.NoError(t, err)
		tests[fmt.Sprintf("page %d", number)] = struct {
			method  string
			request proto.Message
			want    string
		}{orchv1.FlowRunService_PaginateFlowRuns_FullMethodName, page, string(want)}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, response, _, err := local.CallJSON(ctx, test.method, test.request, []byte("before"))
			require.NoError(t, err)
			require.Nil(t, response)
			require.Equal(t, "before"+test.want, string(body))
		})
	}
	t.Run("unknown run", func(t *testing.T) {
		t.Parallel()
		unknown := &orchv1.ReadFlowRunRequest{Id: uuid.NewString()}
		_, _, _, err := local.CallJSON(ctx, orchv1.FlowRunService_ReadFlowRun_FullMethodName, unknown, nil)
		require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	})
}
