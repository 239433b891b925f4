package transcode

import (
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/clientversion"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The message types with an HTTP form of their own.
const (
	emptyName    = "google.protobuf.Empty"
	httpBodyName = "google.api.HttpBody"
)

// Operation is one HTTP binding of one rpc.
type Operation struct {
	// RPC is the method's full name, such as "/orch.v1.FlowService/CreateFlow".
	RPC string
	// Method and Template are the binding, without prefix and trailing slash: "GET", "/flows/{id}".
	Method, Template string
	// Scope is the permission that a caller needs; empty for a public operation.
	Scope string
	// Realm is where the caller must hold the scope.
	Realm orchv1.Realm
	// Public operations need no permission.
	Public bool
	// ReadOnly operations write nothing.
	ReadOnly bool
	// AnyVersion operations ignore the version header.
	AnyVersion bool

	segments     []segment
	input        protoreflect.MessageType
	params       []param
	body         protoreflect.FieldDescriptor // nil: the operation ignores a body.
	rawBody      bool                         // The body is a google.api.HttpBody: any content type.
	textBody     bool                         // The body is a string: JSON, or raw text under another content type.
	optionalBody bool
	status       int
	altStatus    []int32
	responseBody protoreflect.FieldDescriptor // nil: the whole message.
	redact       redactor
	guarded      []access.GuardedField
	omittable    bool // The response has fields that some clients refuse.
}

// param is a field that comes from the path, the query or a header.
type param struct {
	field    protoreflect.FieldDescriptor
	name     string
	in       string // "path", "query" or "header".
	required bool
}

// operations returns the operations of a service's methods. A method without binding has none.
func operations(sd protoreflect.ServiceDescriptor) ([]*Operation, error) {
	var list []*Operation
	for i := range sd.Methods().Len() {
		md := sd.Methods().Get(i)
		rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil || md.IsStreamingClient() || md.IsStreamingServer() {
			continue
		}
		for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			op, err := newOperation(md, r)
			if err != nil {
				return nil, fmt.Errorf("bind %s: %w", md.FullName(), err)
			}
			list = append(list, op)
		}
	}
	return list, nil
}

func newOperation(md protoreflect.MethodDescriptor, rule *annotations.HttpRule) (*Operation, error) {
	api, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod)
	op := &Operation{
		RPC:          fmt.Sprintf("/%s/%s", md.Parent().FullName(), md.Name()),
		Scope:        api.GetScope(),
		Realm:        api.GetRealm(),
		Public:       api.GetPublic(),
		AnyVersion:   api.GetAnyVersion(),
		optionalBody: api.GetOptionalBody(),
		status:       int(api.GetStatus()),
		altStatus:    api.GetAltStatus(),
	}
	if op.status == 0 {
		op.status = http.StatusOK
	}
	var path string
	if op.Method, path = binding(rule); op.Method == "" {
		return nil, fmt.Errorf("no HTTP method in %v", rule)
	}
	op.ReadOnly = readOnly(md, op)
	var err error
	if op.segments, err = parseTemplate(path, md.Input()); err != nil {
		return nil, err
	}
	op.Template = templateOf(op.segments)
	if op.input, err = protoregistry.GlobalTypes.FindMessageByName(md.Input().FullName()); err != nil {
		return nil, fmt.Errorf("find the message %s: %w", md.Input().FullName(), err)
	}
	if err := op.bindBodies(md, rule); err != nil {
		return nil, err
	}
	op.bindParams(md.Input())
	op.guarded = access.Guarded(md.Input())
	op.omittable = restjson.Omission(clientversion.Omittable()).Reaches(md.Output())
	return op, nil
}

// readOnly reports whether an operation writes nothing: by its HTTP method, by the verb of its scope, or by the standard
// option of a method that reads with another scope.
func readOnly(md protoreflect.MethodDescriptor, op *Operation) bool {
	options, _ := md.Options().(*descriptorpb.MethodOptions)
	return op.Method == http.MethodGet || access.ReadOnly(op.Scope) ||
		options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

func binding(rule *annotations.HttpRule) (method, path string) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	case *annotations.HttpRule_Custom:
		return p.Custom.GetKind(), p.Custom.GetPath()
	}
	return "", ""
}

func (op *Operation) bindBodies(md protoreflect.MethodDescriptor, rule *annotations.HttpRule) error {
	if name := rule.GetBody(); name != "" {
		op.body = md.Input().Fields().ByName(protoreflect.Name(name))
		if op.body == nil {
			return fmt.Errorf("the body %q is not a field of %s", name, md.Input().FullName())
		}
		op.textBody = op.body.Kind() == protoreflect.StringKind && !op.body.IsList()
		if m := op.body.Message(); m != nil && !op.body.IsMap() {
			op.rawBody = m.FullName() == httpBodyName
			op.redact = redactorOf(m)
		}
	}
	if name := rule.GetResponseBody(); name != "" {
		op.responseBody = md.Output().Fields().ByName(protoreflect.Name(name))
		if op.responseBody == nil {
			return fmt.Errorf("the response body %q is not a field of %s", name, md.Output().FullName())
		}
	}
	return nil
}

func (op *Operation) bindParams(input protoreflect.MessageDescriptor) {
	for _, s := range op.segments {
		if s.field != nil {
			op.params = append(op.params, param{field: s.field, name: string(s.field.Name()), in: "path", required: true})
		}
	}
	for i := range input.Fields().Len() {
		fd := input.Fields().Get(i)
		var in string
		switch restjson.Options(fd).GetIn() {
		case orchv1.In_IN_QUERY:
			in = "query"
		case orchv1.In_IN_HEADER:
			in = "header"
		default:
			continue
		}
		op.params = append(op.params, param{field: fd, name: restjson.Name(fd), in: in, required: restjson.Required(fd)})
	}
}

// omission returns the fields of the response that the client of a request refuses.
func (op *Operation) omission(r *http.Request) restjson.Omission {
	if !op.omittable {
		return nil
	}
	return clientversion.Of(r).Omitted()
}

// statusOf returns the success status: the documented one, or the declared alternative that the handler chose.
func (op *Operation) statusOf(chosen int) (status int, declared bool) {
	if chosen == 0 || chosen == op.status {
		return op.status, true
	}
	if slices.Contains(op.altStatus, int32(chosen)) {
		return chosen, true
	}
	return op.status, false
}
