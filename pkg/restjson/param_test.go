package restjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestSetParam(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field      string
		values     []string
		want       *testv1.Request
		fieldError string
	}{
		"uuid":                   {"id", []string{"1111111111114111811111111111111A"}, &testv1.Request{Id: "11111111-1111-4111-8111-11111111111a"}, ""},
		"not a uuid":             {"id", []string{"x"}, nil, "uuid_parsing query.id Input should be a valid UUID, invalid character: found `x` at 1"},
		"integer":                {"limit", []string{" +7 "}, &testv1.Request{Limit: 7}, ""},
		"the last one counts":    {"limit", []string{"7", "8"}, &testv1.Request{Limit: 8}, ""},
		"not an integer":         {"limit", []string{"x"}, nil, "int_parsing query.limit Input should be a valid integer, unable to parse string as an integer"},
		"nothing":                {"limit", []string{""}, nil, "int_parsing query.limit Input should be a valid integer, unable to parse string as an integer"},
		"fraction":               {"limit", []string{"1.5"}, nil, "int_from_float query.limit Input should be a valid integer, got a number with a fractional part"},
		"bound":                  {"limit", []string{"201"}, nil, "less_than_equal query.limit Input should be less than or equal to 200"},
		"boolean":                {"force", []string{"Yes"}, &testv1.Request{Force: true}, ""},
		"not a boolean":          {"force", []string{"2"}, nil, "bool_parsing query.force Input should be a valid boolean, unable to interpret input"},
		"number":                 {"ratio", []string{"1e-3"}, &testv1.Request{Ratio: 0.001}, ""},
		"not a number":           {"ratio", []string{"NaN"}, nil, "float_parsing query.ratio Input should be a valid number, unable to parse string as a number"},
		"time":                   {"since", []string{"2026-01-01T00:00:00+01:00"}, &testv1.Request{Since: &timestamppb.Timestamp{Seconds: 1767222000}}, ""},
		"time, plus unescaped":   {"since", []string{"2026-01-01T00:00:00 01:00"}, &testv1.Request{Since: &timestamppb.Timestamp{Seconds: 1767222000}}, ""},
		"not a time":             {"since", []string{"now"}, nil, "datetime_parsing query.since Input should be a valid datetime, input is too short"},
		"seconds":                {"within", []string{"1.5"}, &testv1.Request{Within: &durationpb.Duration{Seconds: 1, Nanos: 5e8}}, ""},
		"duration":               {"within", []string{"PT1M"}, &testv1.Request{Within: &durationpb.Duration{Seconds: 60}}, ""},
		"list of words":          {"colors", []string{"RED", "light-blue"}, &testv1.Request{Colors: []testv1.Color{1, 2}}, ""},
		"not a word":             {"colors", []string{"RED", "BLUE"}, nil, "enum query.colors.1 Input should be 'RED', 'light-blue' or 'GREEN'"},
		"list in a wrapper":      {"names", []string{"a", "b", ""}, &testv1.Request{Names: &testv1.TextList{Values: []string{"a", "b", ""}}}, ""},
		"no value":               {"names", nil, &testv1.Request{}, ""},
		"other name":             {"version", []string{"x"}, nil, "string_pattern_mismatch query.x-version String should match pattern '^[0-9]'"},
		"union":                  {"scalar", []string{"1"}, &testv1.Request{Scalar: &testv1.Scalar{Kind: &testv1.Scalar_Text{Text: "1"}}}, ""},
		"bytes that are no text": {"version", []string{"1\xff\x00"}, &testv1.Request{Version: "1\uFFFD\x00"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &testv1.Request{}
			err := restjson.SetParam(m.ProtoReflect(), fieldOf(m, c.field), c.values, "query")
			if c.fieldError != "" {
				require.Equal(t, []string{c.fieldError}, fieldErrorsOf(t, err))
				return
			}
			require.NoError(t, err)
			require.True(t, proto.Equal(c.want, m), "%v", m)
		})
	}
}

func TestSetParamEchoes(t *testing.T) {
	t.Parallel()
	m := &testv1.Request{}
	err := restjson.SetParam(m.ProtoReflect(), fieldOf(m, "limit"), []string{`"x"`}, "path")
	require.Equal(t, `[{"type":"int_parsing","loc":["path","limit"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"\"x\""}]`,
		string(restjson.AppendErrors(nil, restjson.AsErrors(err).List)))
}

func TestAbsentParam(t *testing.T) {
	t.Parallel()
	m := &testv1.Request{}
	for i := range m.ProtoReflect().Descriptor().Fields().Len() {
		fd := m.ProtoReflect().Descriptor().Fields().Get(i)
		if fd.Name() == "update_mask" {
			continue
		}
		require.NoError(t, restjson.ApplyDefault(m.ProtoReflect(), fd))
	}
	require.True(t, proto.Equal(&testv1.Request{Limit: 200}, m), "%v", m)

	require.True(t, restjson.Required(fieldOf(m, "force")))
	require.False(t, restjson.Required(fieldOf(m, "limit")))
	require.Equal(t, `[{"type":"missing","loc":["header","x-version"],"msg":"Field required","input":null}]`,
		string(restjson.AppendErrors(nil, []*orchv1.FieldError{restjson.Missing(fieldOf(m, "version"), "header")})))
}

func TestEnumWords(t *testing.T) {
	t.Parallel()
	ed := testv1.Color(0).Descriptor()
	for n, want := range map[testv1.Color]string{1: "RED", 2: "light-blue", 3: "GREEN"} {
		word, ok := restjson.EnumWord(ed, n.Number())
		require.True(t, ok)
		require.Equal(t, want, word)
		back, ok := restjson.EnumNumber(ed, word)
		require.True(t, ok)
		require.Equal(t, n.Number(), back)
	}
	_, ok := restjson.EnumWord(ed, 0)
	require.False(t, ok, "the unspecified value has no name")
	for _, word := range []string{"", "UNSPECIFIED", "COLOR_RED", "LIGHT_BLUE", "red"} {
		_, ok := restjson.EnumNumber(ed, word)
		require.False(t, ok, word)
	}
}

func TestOptionsAreNeverNil(t *testing.T) {
	t.Parallel()
	m := &testv1.Resource{}
	require.NotNil(t, restjson.Options(fieldOf(m, "total")))
	require.NotNil(t, restjson.Shape(m.ProtoReflect().Descriptor()))
	require.Equal(t, "page-token", restjson.Name(fieldOf(m, "page_token")))
	require.True(t, restjson.Internal(fieldOf(m, "secret")))
	require.True(t, restjson.Computed(fieldOf(m, "total")))
	require.NotNil(t, restjson.Union((&testv1.Scalar{}).ProtoReflect().Descriptor()))
	require.Nil(t, restjson.Union((&testv1.Nullables{}).ProtoReflect().Descriptor()), "an optional field is not a union")
}
