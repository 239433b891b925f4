package openapi_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	_ "google.golang.org/genproto/googleapis/api/annotations" // The options of the services below.
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/orch-project/orch/pkg/openapi"
	_ "github.com/orch-project/orch/proto/gen/orch/test/v1" // The messages of the services below.
	_ "github.com/orch-project/orch/proto/gen/orch/v1"
)

// shapes is a document of what the contract may hold, whether or not it does so today.
const shapes = "testdata/shapes.json"

func TestEveryShapeIsDescribed(t *testing.T) {
	t.Parallel()
	got, err := openapi.Document(openapi.Options{Title: "Shapes", Version: "1"}, compile(t, `
		message_type { name: "Take"
			field { name: "everything" json_name: "everything" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".orch.test.v1.Everything" }
			field { name: "raw" json_name: "raw" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.api.HttpBody" }
			field { name: "path" json_name: "path" number: 3 label: LABEL_OPTIONAL type: TYPE_STRING }
		}
		service { name: "ShapeService"
			method { name: "Echo" input_type: ".t.Take" output_type: ".orch.test.v1.Everything"
				options { deprecated: true [google.api.http] { post: "/everything/{path=files/**}" body: "everything"
					additional_bindings { custom { kind: "HEAD" path: "/everything" } } } } }
			method { name: "Answer" input_type: ".google.protobuf.Empty" output_type: ".orch.test.v1.Bounds"
				options { [google.api.http] { get: "/bounds" } [orch.v1.api] { public: true operation_id: "bounds" tag: "Other" } } }
			method { name: "Change" input_type: ".orch.test.v1.Request" output_type: ".orch.test.v1.Bodies"
				options { [google.api.http] { patch: "/resources/{id}" body: "body" response_body: "number" } [orch.v1.api] { status: 202 alt_status: 200 optional_body: true scope: "change" } } }
			method { name: "Default" input_type: ".orch.test.v1.Bodies" output_type: ".orch.test.v1.Defaults"
				options { [google.api.http] { put: "/defaults" body: "defaulted" } } }
			method { name: "Upload" input_type: ".t.Take" output_type: ".google.api.HttpBody"
				options { [google.api.http] { post: "/raw" body: "raw" } } }
			method { name: "Touch" input_type: ".google.protobuf.Empty" output_type: ".google.protobuf.Empty"
				options { [google.api.http] { post: "/touch" } } }
			method { name: "Hide" input_type: ".google.protobuf.Empty" output_type: ".google.protobuf.Empty"
				options { [google.api.http] { get: "/hidden" } [orch.v1.api] { hidden: true } } }
			method { name: "Inner" input_type: ".google.protobuf.Empty" output_type: ".google.protobuf.Empty" }
		}`))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(shapes, got, 0o600))
	}
	want, err := os.ReadFile(shapes)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)))
}

func TestContradictionsAreErrors(t *testing.T) {
	t.Parallel()
	method := func(name, output, options string) string {
		return `method { name: "` + name + `" input_type: ".t.Take" output_type: "` + output + `" options { ` + options + ` } }`
	}
	const empty = ".google.protobuf.Empty"
	take := `message_type { name: "Take" }`
	for name, c := range map[string]struct{ file, want string }{
		"two methods with one id": {
			method("A", empty, `[google.api.http] { get: "/a" } [orch.v1.api] { operation_id: "x" }`) + method("B", empty, `[google.api.http] { get: "/b" } [orch.v1.api] { operation_id: "x" }`),
			`describe t.S: the operation id "x" is claimed by t.S.A and t.S.B`,
		},
		"two methods at one address": {
			method("A", empty, `[google.api.http] { get: "/a" }`) + method("B", empty, `[google.api.http] { get: "/a" }`),
			"describe t.S: get /a is claimed by a and b",
		},
		"a variable without field": {
			method("A", empty, `[google.api.http] { get: "/a/{id}" }`),
			`describe t.S: A: t.Take has no field for the path variable "id"`,
		},
		"a body without field": {
			method("A", empty, `[google.api.http] { post: "/a" body: "b" }`),
			`describe t.S: A: t.Take has no field "b" for the body`,
		},
		"an answer without field": {
			method("A", ".t.Take", `[google.api.http] { post: "/a" response_body: "b" }`),
			`describe t.S: A: t.Take has no field "b" for the body`,
		},
		"a method that OpenAPI does not know": {
			method("A", empty, `[google.api.http] { custom { kind: "LOCK" path: "/a" } }`),
			"method unknown to OpenAPI",
		},
		"a status that is no success": {
			method("A", empty, `[google.api.http] { get: "/a" } [orch.v1.api] { alt_status: 404 }`),
			"describe t.S: A: 404 is not a status of success",
		},
		"two messages with one name": {
			method("A", ".t.One", `[google.api.http] { get: "/a" }`) + method("B", ".t.Two", `[google.api.http] { get: "/b" }`),
			`the schema "One" is claimed by t.One and t.Two`,
		},
		"a default that is no JSON": {
			method("A", ".t.Wrong", `[google.api.http] { get: "/a" }`),
			`t.Wrong.field: read the default "{"`,
		},
		"a message without JSON form": {
			method("A", ".google.protobuf.FieldMask", `[google.api.http] { get: "/a" }`),
			"google.protobuf.FieldMask has no JSON form",
		},
		"a variant without tag": {
			method("A", ".t.Union", `[google.api.http] { get: "/a" }`),
			`t.Union: the variant one carries no tag "type"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openapi.Document(openapi.Options{}, compile(t, take+`
				message_type { name: "One" }
				message_type { name: "Two" options { [orch.v1.shape] { schema: "One" } } }
				message_type { name: "Wrong" field { name: "field" json_name: "field" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING options { [orch.v1.rest] { default: "{" } } } }
				message_type { name: "Union" options { [orch.v1.shape] { discriminator: "type" } } oneof_decl { name: "kind" }
					field { name: "one" json_name: "one" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".t.One" oneof_index: 0 } }
				service { name: "S" `+c.file+` }`))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// compile makes the one service of a file that is written as a descriptor.
func compile(t *testing.T, text string) protoreflect.ServiceDescriptor {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	require.NoError(t, prototext.Unmarshal([]byte(`
		name: "t.proto" package: "t" syntax: "proto3"
		dependency: ["google/api/annotations.proto", "google/api/httpbody.proto", "google/protobuf/empty.proto",
			"google/protobuf/field_mask.proto", "orch/v1/rest.proto", "orch/test/v1/shapes.proto"]
		`+text), &file))
	fd, err := protodesc.NewFile(&file, protoregistry.GlobalFiles)
	require.NoError(t, err)
	return fd.Services().Get(0)
}
