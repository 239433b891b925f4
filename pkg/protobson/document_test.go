package protobson

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	someID  = "0190a3c4-0000-7000-8000-00000000000a"
	otherID = "0190a3c4-0000-7000-8000-00000000000b"
)

func uuid(s string) bson.Binary {
	u, ok := parseUUID(s)
	if !ok {
		panic(s)
	}
	return bson.Binary{Subtype: 4, Data: u[:]}
}

// flowRun is a flow run with most of its fields set.
func flowRun() *orchv1.FlowRun {
	at := timestamppb.New(time.Date(2026, 2, 3, 4, 5, 6, 789012000, time.UTC))
	return &orchv1.FlowRun{
		Id: someID, Created: at, Updated: at, Name: "brave-lynx", FlowId: otherID, DeploymentId: proto.String(someID),
		WorkQueueName: proto.String("default"), Parameters: []byte(`{"n": 1.0, "$x": {"a.b": null}}`),
		Context: []byte(`{}`), EmpiricalPolicy: &orchv1.FlowRunPolicy{Retries: proto.Int64(3)},
		Tags: []string{"a", "b"}, Labels: map[string]*orchv1.Scalar{
			"team.name": {Kind: &orchv1.Scalar_StringValue{StringValue: "core"}},
			"$cost":     {Kind: &orchv1.Scalar_Number{Number: 1.5}},
		},
		RunCount: 2, ExpectedStartTime: at, StartTime: at, SortStart: at, TotalRunTime: 1.25,
		CreatedBy: &orchv1.CreatedBy{Id: proto.String(otherID), Type: proto.String("SCHEDULE")},
		State: &orchv1.State{
			Id: otherID, Type: orchv1.StateType_STATE_TYPE_RUNNING, Name: proto.String("Running"), Timestamp: at,
			Data: []byte(`null`), StateDetails: &orchv1.StateDetails{FlowRunId: proto.String(someID)},
		},
	}
}

func TestStoredForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		m    proto.Message
		want bson.D
	}{
		{"zero scalars are written, unset ones are absent", &orchv1.FlowRunPolicy{}, bson.D{
			{Key: "max_retries", Value: int64(0)}, {Key: "retry_delay_seconds", Value: 0.0},
		}},
		{"optional zero is written", &orchv1.FlowRunPolicy{Retries: proto.Int64(0), Resuming: proto.Bool(false)}, bson.D{
			{Key: "max_retries", Value: int64(0)},
			{Key: "retry_delay_seconds", Value: 0.0},
			{Key: "retries", Value: int64(0)},
			{Key: "resuming", Value: false},
		}},
		{
			"UUID, also without hyphens and in upper case",
			&orchv1.StateDetails{FlowRunId: proto.String("0190A3C400007000800000000000000A")},
			bson.D{
				{Key: "flow_run_id", Value: uuid(someID)},
				{Key: "untrackable_result", Value: false},
				{Key: "pause_reschedule", Value: false},
			},
		},
		{"time in microseconds, finer parts cut; enum word; JSON text as it is", &orchv1.State{
			Id: someID, Type: orchv1.StateType_STATE_TYPE_CANCELLING,
			Timestamp: &timestamppb.Timestamp{Seconds: 1, Nanos: 2999}, Data: []byte(" [1.0,  1e400]"),
		}, bson.D{
			{Key: "id", Value: uuid(someID)},
			{Key: "type", Value: "CANCELLING"},
			{Key: "timestamp", Value: int64(1_000_002)},
			{Key: "data", Value: " [1.0,  1e400]"},
		}},
		{"time before 1970", &orchv1.TimeFilter{Before_: &timestamppb.Timestamp{Seconds: -1, Nanos: 999_999_000}}, bson.D{
			{Key: "before_", Value: int64(-1)},
		}},
		{"enum word from its option", &orchv1.FlowFilter{Operator: orchv1.Operator_OPERATOR_OR}, bson.D{
			{Key: "operator", Value: "or_"},
		}},
		{"pairs in the order of keys; unions by member", &orchv1.Flow{Name: "f", Labels: &orchv1.Labels{
			Values: map[string]*orchv1.Scalar{
				"b.c": {Kind: &orchv1.Scalar_Boolean{}},
				"$a":  {Kind: &orchv1.Scalar_Integer{Integer: 7}},
				"":    {},
			},
		}}, bson.D{
			{Key: "name", Value: "f"}, {Key: "labels", Value: bson.A{
				bson.D{{Key: "k", Value: ""}, {Key: "v", Value: bson.D{}}},
				bson.D{{Key: "k", Value: "$a"}, {Key: "v", Value: bson.D{{Key: "integer", Value: int64(7)}}}},
				bson.D{{Key: "k", Value: "b.c"}, {Key: "v", Value: bson.D{{Key: "boolean", Value: false}}}},
			}},
		}},
		{"nullable list: unset and empty differ", &orchv1.UuidFilter{Any_: &orchv1.UuidList{}}, bson.D{
			{Key: "any_", Value: bson.A{}},
		}},
		{"nullable map set and empty", &orchv1.Flow{Labels: &orchv1.Labels{}}, bson.D{
			{Key: "name", Value: ""}, {Key: "labels", Value: bson.A{}},
		}},
		{"inline wrapper of UUIDs", &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{someID}}}, bson.D{
			{Key: "any_", Value: bson.A{uuid(someID)}},
		}},
		{"empty lists that are not optional are absent", &orchv1.FlowList{}, bson.D{}},
		{"inline scalar", &orchv1.WebhookQuery{Limit: &orchv1.PageLimit{Value: 5}}, bson.D{
			{Key: "limit", Value: int64(5)}, {Key: "offset", Value: int64(0)}, {Key: "page_token", Value: ""},
		}},
		{"inline message that holds nothing", &orchv1.NextRuns{Runs: map[string]*orchv1.NextRun{"a": {}}}, bson.D{
			{Key: "runs", Value: bson.D{{Key: "a", Value: nil}}},
		}},
		{"tuple", &orchv1.EventRelatedFilter{ResourcesInRoles: &orchv1.ResourceInRoleList{
			Values: []*orchv1.ResourceInRole{{Id: "x", Role: "flow"}, {}},
		}}, bson.D{
			{Key: "resources_in_roles", Value: bson.A{bson.A{"x", "flow"}, bson.A{"", ""}}},
		}},
		{"inline arrays in a list keep their name", &orchv1.Event{
			Event: "e", Related: []*orchv1.RelatedResource{{Labels: map[string]string{"a.b": "c"}}, {}},
		}, bson.D{
			{Key: "event", Value: "e"}, {Key: "related", Value: bson.A{
				bson.D{{Key: "labels", Value: bson.A{bson.D{{Key: "k", Value: "a.b"}, {Key: "v", Value: "c"}}}}},
				bson.D{{Key: "labels", Value: bson.A{}}},
			}},
		}},
		{"plain map", &orchv1.HttpError{Headers: map[string]string{"b": "2", "a": "1"}}, bson.D{
			{Key: "status", Value: int64(0)},
			{Key: "headers", Value: bson.D{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}},
		}},
		{"plain bytes, chosen though empty", &orchv1.HttpError{Form: &orchv1.HttpError_Body{}}, bson.D{
			{Key: "status", Value: int64(0)}, {Key: "body", Value: bson.Binary{Data: []byte{}}},
		}},
		{"computed is left out, internal is not", &orchv1.FlowRun{
			Id: someID, StateId: proto.String(someID), EstimatedRunTime: 3, SortStart: &timestamppb.Timestamp{Seconds: 1},
		}, bson.D{
			{Key: "id", Value: uuid(someID)},
			{Key: "name", Value: ""},
			{Key: "run_count", Value: int64(0)},
			{Key: "total_run_time", Value: 0.0},
			{Key: "auto_scheduled", Value: false},
			{Key: "sort_start", Value: int64(1_000_000)},
		}},
		{"a document of its own inside", &orchv1.FlowList{Flows: []*orchv1.Flow{{Id: someID}}}, bson.D{
			{Key: "flows", Value: bson.A{bson.D{{Key: "id", Value: uuid(someID)}, {Key: "name", Value: ""}}}},
		}},
		{"unsigned and short numbers", wrapperspb.UInt32(math.MaxUint32), bson.D{{Key: "value", Value: int64(math.MaxUint32)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Marshal(c.m)
			require.NoError(t, err)
			want, err := bson.Marshal(c.want)
			require.NoError(t, err)
			require.Equal(t, bson.Raw(want).String(), got.String())
			require.Equal(t, bson.Raw(want), got)
		})
	}
}

func TestDocumentForm(t *testing.T) {
	t.Parallel()
	want := flowRun()
	elements, err := AppendDocument(nil, want)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(elements[1:], []byte("_id\x00")), "a store would put it in front")

	// A store may order them: its envelope first, then the message's elements.
	envelope, err := bson.Marshal(bson.D{
		{Key: "ws", Value: uuid(otherID)},
		{Key: "rev", Value: int64(4)},
		{Key: "outbox", Value: bson.A{}},
		{Key: "expire_at", Value: time.Now()},
		{Key: "deleted_at", Value: int64(1)},
		{Key: "id", Value: "not the id"},
	})
	require.NoError(t, err)
	doc := append(envelope[:len(envelope)-1:len(envelope)-1], elements...)
	doc = append(doc, 0)
	doc[0], doc[1] = byte(len(doc)), byte(len(doc)>>8)
	require.NoError(t, bson.Raw(doc).Validate())
	require.Equal(t, uuid(someID).Data, bson.Raw(doc).Lookup("_id").Value[5:])

	got := &orchv1.FlowRun{Name: "is reset"}
	require.NoError(t, UnmarshalDocument(doc, got))
	require.Empty(t, cmp.Diff(want, got, protocmp.Transform()))

	_, err = MarshalDocument(&orchv1.Flow{Name: "without id"})
	require.ErrorIs(t, err, ErrValue)
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	deep := structpb.NewNullValue()
	for range 60 {
		deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
	}
	for _, c := range []struct {
		name string
		m    proto.Message
		path string
		err  error
	}{
		{"no UUID", &orchv1.Flow{Id: "x"}, "id: ", ErrValue},
		{"no UUID in a list", &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{someID, ""}}}, "any_.1: ", ErrValue},
		{"unspecified enum in a list", &orchv1.StateTypeFilter{Any_: &orchv1.StateTypeList{
			Values: []orchv1.StateType{orchv1.StateType_STATE_TYPE_UNSPECIFIED},
		}}, "any_.0: ", ErrValue},
		{"unknown enum", &orchv1.State{Type: 99}, "type: ", ErrValue},
		{"key with a dot", &orchv1.HttpError{Headers: map[string]string{"a.b": ""}}, "headers.a.b: ", ErrValue},
		{"key with a dollar", &orchv1.HttpError{Headers: map[string]string{"$where": ""}}, "headers.$where: ", ErrValue},
		{"key with a NUL", &orchv1.HttpError{Headers: map[string]string{"a\x00": ""}}, "headers.", ErrValue},
		{"empty key", &orchv1.HttpError{Headers: map[string]string{"": ""}}, "headers.: ", ErrValue},
		{"not UTF-8", &orchv1.Flow{Name: "\xff"}, "name: ", ErrValue},
		{"JSON not UTF-8", &orchv1.State{Data: []byte("\xff")}, "data: ", ErrValue},
		{"time out of range", &orchv1.TimeFilter{Before_: &timestamppb.Timestamp{Seconds: math.MaxInt64}}, "before_: ", ErrValue},
		{"big unsigned number", wrapperspb.UInt64(math.MaxUint64), "value: ", ErrValue},
		{"too deep", deep, "list_value.", ErrDepth},
		{"inline alone", &orchv1.UuidList{}, "UuidList", ErrMessage},
		{"tuple alone", &orchv1.ResourceInRole{}, "ResourceInRole", ErrMessage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dst := []byte("before")
			got, err := Append(dst, c.m)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, "protobson: "+c.path)
			require.Equal(t, dst, got)
		})
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	var deep any = bson.D{}
	for range 120 {
		deep = bson.D{{Key: "list_value", Value: bson.D{{Key: "values", Value: bson.A{deep}}}}}
	}
	for _, c := range []struct {
		name string
		into proto.Message
		doc  any
		path string
		err  error
	}{
		{"string for a UUID", &orchv1.Flow{}, bson.D{{Key: "id", Value: someID}}, "id: ", ErrType},
		{"another binary", &orchv1.Flow{}, bson.D{{Key: "id", Value: bson.Binary{Subtype: 3, Data: make([]byte, 16)}}}, "id: ", ErrType},
		{"null", &orchv1.Flow{}, bson.D{{Key: "name", Value: nil}}, "name: ", ErrType},
		{"date for microseconds", &orchv1.State{}, bson.D{{Key: "timestamp", Value: time.Now()}}, "timestamp: ", ErrType},
		{"number for a string, deep", &orchv1.FlowRun{}, bson.D{{Key: "state", Value: bson.D{
			{Key: "state_details", Value: bson.D{{Key: "cache_key", Value: 1}}},
		}}}, "state.state_details.cache_key: ", ErrType},
		{"item of a list", &orchv1.Flow{}, bson.D{{Key: "tags", Value: bson.A{"a", 1}}}, "tags.1: ", ErrType},
		{"document for a list", &orchv1.Flow{}, bson.D{{Key: "tags", Value: bson.D{}}}, "tags: ", ErrType},
		{"half a pair", &orchv1.Flow{}, bson.D{{Key: "labels", Value: bson.A{bson.D{{Key: "k", Value: "a"}}}}}, "labels.0: ", ErrType},
		{"two members", &orchv1.Flow{}, bson.D{{Key: "labels", Value: bson.A{bson.D{
			{Key: "k", Value: "a"}, {Key: "v", Value: bson.D{{Key: "boolean", Value: true}, {Key: "integer", Value: 1}}},
		}}}}, "labels.0.v.integer: ", ErrType},
		{"unknown enum word", &orchv1.State{}, bson.D{{Key: "type", Value: "SLEEPING"}}, "type: ", ErrType},
		{"time out of range", &orchv1.State{}, bson.D{{Key: "timestamp", Value: int64(math.MaxInt64)}}, "timestamp: ", ErrType},
		{"number out of range", &wrapperspb.UInt32Value{}, bson.D{{Key: "value", Value: int64(-1)}}, "value: ", ErrType},
		{"too deep", &structpb.Value{}, deep, "list_value.", ErrDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, err := bson.Marshal(c.doc)
			require.NoError(t, err)
			err = Unmarshal(raw, c.into)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, "protobson: "+c.path)
			require.True(t, proto.Equal(c.into, c.into.ProtoReflect().New().Interface()), "nothing half-read")
		})
	}
	for _, raw := range []string{"", "\x05\x00\x00\x00", "\x06\x00\x00\x00\x00\x00", strings.Repeat("\xff", 40)} {
		require.ErrorIs(t, Unmarshal(bson.Raw(raw), &orchv1.Flow{}), ErrCorrupt)
	}
}

func TestReadIsLenientWhereDataCannotBeWrong(t *testing.T) {
	t.Parallel()
	raw, err := bson.Marshal(bson.D{
		{Key: "a field of tomorrow", Value: bson.D{{Key: "x", Value: 1}}},
		{Key: "total_run_time", Value: int64(3)},
		{Key: "run_count", Value: int32(2)},
		{Key: "state_id", Value: 5}, // Computed: not even its type matters.
	})
	require.NoError(t, err)
	got := &orchv1.FlowRun{}
	require.NoError(t, Unmarshal(raw, got))
	require.Empty(t, cmp.Diff(&orchv1.FlowRun{TotalRunTime: 3, RunCount: 2}, got, protocmp.Transform()))
}

func TestDuration(t *testing.T) {
	t.Parallel()
	c := codec{kind: restjson.KindDuration}
	for _, us := range []int64{0, 1, -1, 1_500_000, -1_500_000, maxDuration * microsPerSec} {
		d := &durationpb.Duration{}
		require.NoError(t, c.setMicros(d.ProtoReflect(), us))
		require.NoError(t, d.CheckValid())
		got, err := c.micros(d.ProtoReflect())
		require.NoError(t, err)
		require.Equal(t, us, got)
	}
	require.ErrorIs(t, c.setMicros((&durationpb.Duration{}).ProtoReflect(), math.MaxInt64), ErrType)
}
