package openapi_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	"github.com/orch-project/orch/pkg/vocabulary"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestResponsesFitTheDocument encodes random responses of every operation and validates them against their schemas.
func TestResponsesFitTheDocument(t *testing.T) {
	t.Parallel()
	document := load(t, vocabulary.Orch)
	for _, service := range openapi.Services() {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
			schema := successOf(document, rule)
			if schema == nil || method.Output().FullName() == "google.api.HttpBody" {
				continue
			}
			t.Run(string(method.FullName()), func(t *testing.T) {
				t.Parallel()
				output, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
				require.NoError(t, err)
				rapid.Check(t, func(t *rapid.T) {
					fits(t, schema, encode(t, restjsontest.Draw(t, output), rule.GetResponseBody()))
				})
			})
		}
	}
}

func TestEveryShapeFitsItsSchema(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("../../pkg/openapi/testdata/shapes.json")
	require.NoError(t, err)
	for name, message := range map[string]proto.Message{
		"Everything-Output": (*testv1.Everything)(nil),
		"Bounds":            (*testv1.Bounds)(nil),
		"Defaults-Output":   (*testv1.Defaults)(nil),
		"Resource":          (*testv1.Resource)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := document.Components.Schemas[name].Value
			rapid.Check(t, func(t *rapid.T) {
				fits(t, schema, encode(t, restjsontest.Draw(t, message.ProtoReflect().Type()), ""))
			})
		})
	}
}

// TestBadRequestFitsItsSchema validates the 422 body of several invalid requests.
func TestBadRequestFitsItsSchema(t *testing.T) {
	t.Parallel()
	document := load(t, vocabulary.Orch)
	for _, request := range []string{`{"name":1,"more":true,"tags":["a",2]}`, `{`, ``, `[]`} {
		err := restjson.Unmarshal([]byte(request), &orchv1.FlowCreate{})
		fieldErrors := restjson.AsErrors(err)
		require.NotNil(t, fieldErrors, request)
		body := fieldErrors.AppendBody(nil, []byte(request))
		schema := document.Components.Schemas["HTTPValidationError"].Value
		fits(t, schema, body)
		requireKnownKeys(t, schema, body)
		var parsed struct {
			ExceptionDetail []json.RawMessage `json:"exception_detail"`
		}
		require.NoError(t, json.Unmarshal(body, &parsed))
		require.NotEmpty(t, parsed.ExceptionDetail)
		for _, one := range parsed.ExceptionDetail {
			requireKnownKeys(t, document.Components.Schemas["ValidationError"].Value, one)
		}
	}
}

// successOf returns the schema of the operation's first success; nil for one without a body.
func successOf(document *openapi3.T, rule *annotations.HttpRule) *openapi3.Schema {
	var op *openapi3.Operation
	switch pattern := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		op = operation(document, pattern.Get, "GET")
	case *annotations.HttpRule_Post:
		op = operation(document, pattern.Post, "POST")
	case *annotations.HttpRule_Put:
		op = operation(document, pattern.Put, "PUT")
	case *annotations.HttpRule_Patch:
		op = operation(document, pattern.Patch, "PATCH")
	case *annotations.HttpRule_Delete:
		op = operation(document, pattern.Delete, "DELETE")
	}
	if op == nil {
		return nil
	}
	for _, status := range []int{200, 201, 202} {
		if response := op.Responses.Status(status); response != nil {
			if media := response.Value.Content.Get("application/json"); media != nil {
				return media.Schema.Value
			}
		}
	}
	return nil
}

func operation(document *openapi3.T, path, method string) *openapi3.Operation {
	if item := document.Paths.Value(path); item != nil {
		return item.GetOperation(method)
	}
	return nil
}

// encode returns the JSON of a message, or of its field that is the body.
func encode(t require.TestingT, message proto.Message, field string) []byte {
	if message.ProtoReflect().Descriptor().FullName() == "google.protobuf.Empty" {
		return []byte("null")
	}
	var data []byte
	var err error
	if field == "" {
		data, err = restjson.Marshal(message)
	} else {
		m := message.ProtoReflect()
		data, err = restjson.AppendField(nil, m, m.Descriptor().Fields().ByName(protoreflect.Name(field)))
	}
	require.NoError(t, err)
	return data
}

func fits(t require.TestingT, schema *openapi3.Schema, data []byte) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), "%s", data)
	require.NoError(t, schema.VisitJSON(representable(value), openapi3.VisitAsResponse()), "%s", data)
}

// representable replaces numbers of free JSON beyond float64, which the validator cannot read.
func representable(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			value[key] = representable(one)
		}
	case []any:
		for i, one := range value {
			value[i] = representable(one)
		}
	case json.Number:
		if _, err := value.Float64(); err != nil {
			return json.Number("1")
		}
	}
	return value
}

func requireKnownKeys(t *testing.T, schema *openapi3.Schema, data []byte) {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &object))
	for key := range object {
		require.Contains(t, schema.Properties, key)
	}
}
