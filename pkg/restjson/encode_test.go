package restjson_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
)

const someID = "11111111-1111-4111-8111-111111111111"

func scalars() *testv1.Scalars {
	return &testv1.Scalars{
		Id:       someID,
		Color:    testv1.Color_COLOR_RED,
		Time:     &timestamppb.Timestamp{},
		Duration: &durationpb.Duration{},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    proto.Message
		want string
	}{
		"zero values of what is never null": {
			scalars(),
			`{"boolean":false,"small":0,"integer":0,"unsigned_small":0,"unsigned":0,"single":0.0,"number":0.0,"text":"",` +
				`"id":"` + someID + `","json":null,"object":{},"color":"RED","time":"1970-01-01T00:00:00Z","duration":0.0,"message":{}}`,
		},
		"null for what is optional and unset": {
			&testv1.Nullables{},
			`{"boolean":null,"small":null,"integer":null,"unsigned_small":null,"unsigned":null,"single":null,"number":null,"text":null,` +
				`"id":null,"json":null,"object":null,"color":null,"time":null,"duration":null,"message":null,"list":null,"map":null,"union":null,"tuple":null}`,
		},
		"empty lists": {
			&testv1.Lists{},
			`{"booleans":[],"integers":[],"numbers":[],"texts":[],"ids":[],"jsons":[],"objects":[],"colors":[],"times":[],"durations":[],"messages":[],"lists":[],"unions":[],"tuples":[]}`,
		},
		"inline wrappers that are never null": {
			&testv1.Inlines{},
			`{"list":[],"map":{},"json":null,"jsons":[]}`,
		},
		"an empty optional list is no null": {
			&testv1.FilterName{Any_: &testv1.TextList{}},
			`{"any_":[],"is_null_":null}`,
		},
		"integers are numbers": {
			&testv1.Bounds{Low: math.MaxInt64, Above: math.MinInt64, Wait: durationpb.New(0)},
			`{"low":9223372036854775807,"above":-9223372036854775808,"high":0.0,"long":"","pattern":"","items":[],"set":[],"wait":0.0}`,
		},
		"a duration is seconds": {
			&testv1.Interval{Interval: &durationpb.Duration{Seconds: -1, Nanos: -500_000_000}},
			`{"interval":-1.5,"timezone":null}`,
		},
		"strings escape what JSON demands": {
			&testv1.TextList{Values: []string{"\"\\/\n\r\t\b\x00\x7f<&>\u2028é😀"}},
			"[\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\x7f<&>\u2028é😀\"]",
		},
		"the keys of a map are sorted": {
			&testv1.TextMap{Values: map[string]string{"b": "2", "a": "1", "": "0"}},
			`{"":"0","a":"1","b":"2"}`,
		},
		"a tuple is in the order of numbers": {
			&testv1.Pair{First: someID, Second: &testv1.TextList{Values: []string{"x"}}},
			`["` + someID + `",["x"]]`,
		},
		"the tag comes first": {
			&testv1.Trigger{Kind: &testv1.Trigger_Event{Event: &testv1.EventTrigger{Posture: testv1.Color_COLOR_LIGHT_BLUE}}},
			`{"type":"event","expect":[],"threshold":0,"posture":"light-blue"}`,
		},
		"a variant without fields": {
			&testv1.Trigger{Kind: &testv1.Trigger_None{None: &testv1.NoTrigger{}}},
			`{"type":"none"}`,
		},
		"a typed union is its member": {
			&testv1.Scalar{Kind: &testv1.Scalar_Number{Number: 1}},
			`1.0`,
		},
		"extra keys follow the named ones": {
			&testv1.Extra{Type: "git", Extra: map[string][]byte{"b": []byte(`[1]`), "a": nil, "type": []byte(`"no"`)}},
			`{"type":"git","version":"","a":null,"b":[1]}`,
		},
		"internal fields are not shown, names are": {
			&testv1.Resource{Id: someID, Name: "n", Secret: "s3cret", Total: 7, PageToken: "t"},
			`{"id":"` + someID + `","name":"n","description":null,"total":7,"page-token":"t"}`,
		},
		"a UUID is lower case with hyphens": {
			&testv1.Resource{Id: "ABCDEFAB111141118111111111111111"},
			`{"id":"abcdefab-1111-4111-8111-111111111111","name":"","description":null,"total":0,"page-token":""}`,
		},
		"NaN has no word in JSON": {
			&testv1.Scalar{Kind: &testv1.Scalar_Number{Number: math.NaN()}},
			`null`,
		},
		"nothing is null": {&emptypb.Empty{}, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := restjson.Marshal(c.m)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
			behind, err := restjson.Append([]byte("x"), c.m)
			require.NoError(t, err)
			require.Equal(t, "x"+c.want, string(behind))
		})
	}
}

func TestEncodeServerErrors(t *testing.T) {
	t.Parallel()
	with := func(change func(*testv1.Scalars)) proto.Message {
		m := scalars()
		change(m)
		return m
	}
	loop := &testv1.Trigger{}
	loop.Kind = &testv1.Trigger_Compound{Compound: &testv1.CompoundTrigger{Triggers: []*testv1.Trigger{loop}}}
	for name, c := range map[string]struct {
		m    proto.Message
		want error
		text string
	}{
		"UUID unset":           {with(func(m *testv1.Scalars) { m.Id = "" }), restjson.ErrUnset, "orch.test.v1.Scalars: id:"},
		"UUID malformed":       {with(func(m *testv1.Scalars) { m.Id = "x" }), restjson.ErrInvalid, "id:"},
		"enum unset":           {with(func(m *testv1.Scalars) { m.Color = 0 }), restjson.ErrUnset, "color:"},
		"enum unknown":         {with(func(m *testv1.Scalars) { m.Color = 99 }), restjson.ErrInvalid, "color:"},
		"timestamp unset":      {with(func(m *testv1.Scalars) { m.Time = nil }), restjson.ErrUnset, "time:"},
		"timestamp too late":   {with(func(m *testv1.Scalars) { m.Time.Seconds = 1 << 50 }), restjson.ErrInvalid, "time:"},
		"timestamp malformed":  {with(func(m *testv1.Scalars) { m.Time.Nanos = -1 }), restjson.ErrInvalid, "time:"},
		"duration unset":       {with(func(m *testv1.Scalars) { m.Duration = nil }), restjson.ErrUnset, "duration:"},
		"duration too long":    {with(func(m *testv1.Scalars) { m.Duration.Seconds = 1 << 50 }), restjson.ErrInvalid, "duration:"},
		"union unset":          {&testv1.Trigger{}, restjson.ErrUnset, "Trigger:"},
		"union in a list":      {&testv1.Lists{Unions: []*testv1.Scalar{{}}}, restjson.ErrUnset, "unions: 0:"},
		"optional enum zero":   {&testv1.Nullables{Color: testv1.Color_COLOR_UNSPECIFIED.Enum()}, restjson.ErrUnset, "color:"},
		"a message in itself":  {loop, restjson.ErrInvalid, "nested too deeply"},
		"union in nested form": {&testv1.Everything{Scalars: scalars()}, restjson.ErrUnset, "typed:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := restjson.Append([]byte("x"), c.m)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, "x", string(got), "nothing half-written")
		})
	}
}

func TestAppendField(t *testing.T) {
	t.Parallel()
	m := &testv1.Bodies{List: []*testv1.Resource{{Id: someID}}, Text: "a"}
	fds := m.ProtoReflect().Descriptor().Fields()
	for field, want := range map[string]string{
		"list":     `[{"id":"` + someID + `","name":"","description":null,"total":0,"page-token":""}]`,
		"text":     `"a"`,
		"number":   `null`,
		"nullable": `null`,
		"json":     `null`,
	} {
		got, err := restjson.AppendField(nil, m.ProtoReflect(), fds.ByTextName(field))
		require.NoError(t, err)
		require.Equal(t, want, string(got), field)
	}
	_, err := restjson.AppendField(nil, m.ProtoReflect(), fds.ByTextName("message"))
	require.ErrorIs(t, err, restjson.ErrUnset)
}

func TestAppendFloat(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "0.1": 0.1, "-1.5": -1.5, "100000.0": 1e5,
		"1000000000000000.0": 1e15, "9007199254740992.0": 1 << 53, "1e+16": 1e16,
		"1e+21": 1e21, "1e+22": 1e22, "1.2345678901234568e+17": 123456789012345680,
		"0.00001": 1e-5, "9.9e-6": 9.9e-6, "1e-7": 1e-7, "1.5e+300": 1.5e300, "5e-324": 5e-324, "1e-10": 1e-10,
		"1.7976931348623157e+308": math.MaxFloat64, "null": math.Inf(1),
	} {
		require.Equal(t, want, string(restjson.AppendFloat(nil, x)))
	}
}

func TestTimestampText(t *testing.T) {
	t.Parallel()
	for want, ts := range map[string]*timestamppb.Timestamp{
		`"1970-01-01T00:00:00Z"`:        {},
		`"1970-01-01T00:00:00.000001Z"`: {Nanos: 1000},
		`"1970-01-01T00:00:00.500000Z"`: {Nanos: 500_000_999},
		`"1969-12-31T23:59:59.999999Z"`: {Seconds: -1, Nanos: 999_999_999},
		`"0001-01-01T00:00:00Z"`:        {Seconds: -62135596800},
		`"9999-12-31T23:59:59Z"`:        {Seconds: 253402300799},
		`"2024-02-29T12:34:56Z"`:        {Seconds: 1709210096},
	} {
		got, ok := restjson.AppendTimestamp(nil, ts.GetSeconds(), ts.GetNanos())
		require.True(t, ok)
		require.Equal(t, want, string(got))
	}
}
