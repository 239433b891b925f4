package restjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func fieldOf(m proto.Message, name string) protoreflect.FieldDescriptor {
	return m.ProtoReflect().Descriptor().Fields().ByTextName(name)
}

// TestMask returns the mask that the top-level keys of a body make (rule 10).
func TestMask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		paths []string
		body  *testv1.ResourceUpdate
	}{
		"nothing sent":            {`{}`, nil, &testv1.ResourceUpdate{}},
		"no default at the top":   {`{"name":"n"}`, []string{"name"}, &testv1.ResourceUpdate{Name: "n"}},
		"null is a value":         {`{"description":null}`, []string{"description"}, &testv1.ResourceUpdate{}},
		"zero values are values":  {`{"paused":false,"tags":[],"name":""}`, []string{"paused", "tags", "name"}, &testv1.ResourceUpdate{}},
		"an empty object is one":  {`{"parameters":{}}`, []string{"parameters"}, &testv1.ResourceUpdate{Parameters: []byte(`{}`)}},
		"proto names":             {`{"page-token":"t"}`, []string{"page_token"}, &testv1.ResourceUpdate{PageToken: "t"}},
		"defaults below the top":  {`{"filter":{"name":null}}`, []string{"filter"}, &testv1.ResourceUpdate{Filter: &testv1.Filter{Operator: testv1.Color_COLOR_RED}}},
		"nested keys are no part": {`{"filter":{"name":{"any_":["x"]}}}`, []string{"filter"}, &testv1.ResourceUpdate{Filter: &testv1.Filter{Operator: testv1.Color_COLOR_RED, Name: &testv1.FilterName{Any_: &testv1.TextList{Values: []string{"x"}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &testv1.Request{}
			require.NoError(t, restjson.UnmarshalField([]byte(c.in), m.ProtoReflect(), fieldOf(m, "body")))
			require.NotNil(t, m.GetUpdateMask())
			require.Equal(t, c.paths, m.GetUpdateMask().GetPaths())
			require.True(t, proto.Equal(c.body, m.GetBody()), "%v", m.GetBody())
		})
	}
	for in, want := range map[string][]string{
		`{"paused":null}`:               {"bool_type body.paused Input should be a valid boolean"},
		`{"parameters":null}`:           {"dict_type body.parameters Input should be a valid dictionary"},
		`{"name":"a","name":"b"}`:       {"duplicate_key body.name Duplicate key"},
		`{"secret":"x"}`:                {"extra_forbidden body.secret Extra inputs are not permitted"},
		`{"filter":{"name":{"any":1}}}`: {"extra_forbidden body.filter.name.any Extra inputs are not permitted"},
	} {
		m := &testv1.Request{}
		require.Equal(t, want, fieldErrorsOf(t, restjson.UnmarshalField([]byte(in), m.ProtoReflect(), fieldOf(m, "body"))), in)
		require.Nil(t, m.GetUpdateMask(), in)
	}
}

// An implied field is in the mask once, with its key or without.
func TestMaskNamesImpliedFields(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`{}`:                                {"parameters"},
		`{"active":false}`:                  {"active", "parameters"},
		`{"parameters":{"a":1},"slug":"s"}`: {"parameters", "slug"},
	} {
		m := &orchv1.UpdateDeploymentScheduleRequest{}
		require.NoError(t, restjson.UnmarshalField([]byte(in), m.ProtoReflect(), fieldOf(m, "schedule")), in)
		require.Equal(t, want, m.GetUpdateMask().GetPaths(), in)
	}
}

func TestUnmarshalField(t *testing.T) {
	t.Parallel()
	optional := []restjson.DecodeOption{restjson.WithOptionalBody()}
	resource := &testv1.Resource{Name: "n"}
	for name, c := range map[string]struct {
		field      string
		in         string
		opts       []restjson.DecodeOption
		want       *testv1.Bodies
		fieldError string
	}{
		"a message":                  {"message", `{"name":"n","description":null}`, nil, &testv1.Bodies{Message: resource}, ""},
		"a message that may be null": {"nullable", `null`, nil, &testv1.Bodies{}, ""},
		"a list":                     {"list", `[{"name":"n","description":null}]`, nil, &testv1.Bodies{List: []*testv1.Resource{resource}}, ""},
		"an item's error":            {"list", `[{"name":"n"}]`, nil, nil, "missing body.0.description Field required"},
		"free JSON":                  {"json", ` [ 1 ] `, nil, &testv1.Bodies{Json: []byte(`[1]`)}, ""},
		"null as free JSON":          {"json", `null`, nil, &testv1.Bodies{Json: []byte(`null`)}, ""},
		"a string":                   {"text", `"x"`, nil, &testv1.Bodies{Text: "x"}, ""},
		"a number that may be null":  {"number", `null`, nil, &testv1.Bodies{}, ""},
		"a number":                   {"number", `5`, nil, &testv1.Bodies{Number: proto.Int64(5)}, ""},
		"no body":                    {"message", ``, nil, nil, "missing body Field required"},
		"null for a message":         {"message", `null`, nil, nil, "missing body Field required"},
		"no body, optional":          {"message", ``, optional, nil, "missing body.name Field required"},
		"no list, optional":          {"list", ` `, optional, &testv1.Bodies{}, ""},
		"no body, with a default":    {"defaulted", ``, nil, &testv1.Bodies{Defaulted: defaults(t)}, ""},
		"null, with a default":       {"defaulted", `null`, optional, &testv1.Bodies{Defaulted: defaults(t)}, ""},
		"not null after all":         {"number", `nul`, nil, nil, "json_invalid body.0 JSON decode error: a value is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &testv1.Bodies{}
			err := restjson.UnmarshalField([]byte(c.in), m.ProtoReflect(), fieldOf(m, c.field), c.opts...)
			if c.fieldError != "" {
				require.Equal(t, c.fieldError, fieldErrorsOf(t, err)[0])
				return
			}
			require.NoError(t, err)
			require.True(t, proto.Equal(c.want, m), "%v", m)
		})
	}
}

func defaults(t *testing.T) *testv1.Defaults {
	t.Helper()
	m := &testv1.Defaults{}
	require.NoError(t, restjson.Unmarshal([]byte(`{}`), m))
	return m
}

// TestOptionalBodyIsAnEmptyOne proves that an absent body has the defaults of {}.
func TestOptionalBodyIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", " ", "null", " null\n"} {
		m := &testv1.Defaults{}
		if in != "null" && in != " null\n" {
			require.NoError(t, restjson.Unmarshal([]byte(in), m, restjson.WithOptionalBody()))
			require.True(t, proto.Equal(defaults(t), m))
		}
		r := &testv1.Request{}
		require.NoError(t, restjson.UnmarshalField([]byte(in), r.ProtoReflect(), fieldOf(r, "body"), restjson.WithOptionalBody()))
		require.NotNil(t, r.GetBody())
		require.NotNil(t, r.GetUpdateMask())
	}
}
