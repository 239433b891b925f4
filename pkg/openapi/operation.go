package openapi

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/proto/gen/comments"
)

// service adds the operations of a service, and its tag.
func (g *generator) service(doc *document, sd protoreflect.ServiceDescriptor) error {
	own := serviceOptions(sd).GetTag()
	if own == "" {
		own = string(sd.Name())
	}
	for i := range sd.Methods().Len() {
		md := sd.Methods().Get(i)
		o := methodOptions(md)
		if o.GetHidden() {
			continue
		}
		for n, rule := range bindings(md) {
			id := operationID(md, n)
			if len(g.opts.Operations) > 0 && !slices.Contains(g.opts.Operations, id) {
				continue
			}
			method, template, err := route(rule)
			if err != nil {
				return fmt.Errorf("%s: %w", md.Name(), err)
			}
			op, path, err := g.operation(md, rule, template)
			if err != nil {
				return fmt.Errorf("%s: %w", md.Name(), err)
			}
			op.OperationID = id
			if err := g.claim(id, md); err != nil {
				return err
			}
			name := o.GetTag()
			if name == "" {
				name = own
			}
			op.Tags = []string{name}
			doc.addTag(name, own, sd)
			if err := doc.addOperation(path, method, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// operationID names a binding of a method. The main one has the method's name.
func operationID(md protoreflect.MethodDescriptor, binding int) string {
	id := methodOptions(md).GetOperationId()
	if id == "" {
		id = snakeCase(string(md.Name()))
	}
	if binding > 0 {
		id = fmt.Sprintf("%s_%d", id, binding+1)
	}
	return id
}

// claim reserves an operation id for a method.
func (g *generator) claim(id string, md protoreflect.MethodDescriptor) error {
	if other, taken := g.operations[id]; taken {
		return fmt.Errorf("the operation id %q is claimed by %s and %s", id, other, md.FullName())
	}
	g.operations[id] = md.FullName()
	return nil
}

// operation describes one binding of a method and returns its path in OpenAPI's form.
func (g *generator) operation(md protoreflect.MethodDescriptor, rule *annotations.HttpRule, template string) (*operation, string, error) {
	o := methodOptions(md)
	op := &operation{Deprecated: deprecated(md), Scope: o.GetScope()}
	op.Summary, op.Description = summarize(comments.Of(string(md.FullName())))
	if g.opts.Brief {
		op.Description = ""
	}
	if o.GetPublic() {
		op.Security = &[]securityRequirement{}
	}
	var err error
	path := variable.ReplaceAllString(template, "{$1}")
	if op.Parameters, err = g.parameters(md, template); err != nil {
		return nil, "", err
	}
	if op.RequestBody, err = g.requestBody(md, rule.GetBody(), operationID(md, 0)); err != nil {
		return nil, "", err
	}
	if op.Responses, err = g.responses(md, rule.GetResponseBody(), len(op.Parameters) > 0 || op.RequestBody != nil); err != nil {
		return nil, "", err
	}
	return op, path, nil
}

// variable matches a variable of a path template; OpenAPI omits its segment pattern.
var variable = regexp.MustCompile(`\{([^{}=]+)(?:=[^{}]*)?\}`)

// route returns the lower-case method and the path template of a binding.
func route(rule *annotations.HttpRule) (method, template string, err error) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return "get", p.Get, nil
	case *annotations.HttpRule_Put:
		return "put", p.Put, nil
	case *annotations.HttpRule_Post:
		return "post", p.Post, nil
	case *annotations.HttpRule_Delete:
		return "delete", p.Delete, nil
	case *annotations.HttpRule_Patch:
		return "patch", p.Patch, nil
	case *annotations.HttpRule_Custom:
		switch p.Custom.GetKind() {
		case http.MethodHead, http.MethodOptions:
			return strings.ToLower(p.Custom.GetKind()), p.Custom.GetPath(), nil
		}
	}
	return "", "", fmt.Errorf("HTTP binding %v: method unknown to OpenAPI", rule)
}

func (d *document) addOperation(path, method string, op *operation) error {
	item, there := d.Paths.get(path)
	if !there {
		item = newOrdered[*operation]()
		d.Paths.set(path, item)
	}
	if other, taken := item.get(method); taken {
		return fmt.Errorf("%s %s is claimed by %s and %s", method, path, other.OperationID, op.OperationID)
	}
	item.set(method, op)
	return nil
}

// addTag lists a tag once. The service's comment describes the service's own tag.
func (d *document) addTag(name, own string, sd protoreflect.ServiceDescriptor) {
	description := ""
	if name == own {
		description = comments.Of(string(sd.FullName()))
	}
	for i := range d.Tags {
		if d.Tags[i].Name == name {
			if d.Tags[i].Description == "" {
				d.Tags[i].Description = description
			}
			return
		}
	}
	d.Tags = append(d.Tags, tag{Name: name, Description: description})
}

// summarize splits a method's comment: the first sentence, without its full stop, is the summary, the rest the
// description.
func summarize(comment string) (summary, description string) {
	summary, description, _ = strings.Cut(comment, ". ")
	return strings.TrimSuffix(summary, "."), description
}

// snakeCase writes ReadFlowRunV2 as read_flow_run_v2.
func snakeCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) {
			if i > 0 {
				out.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}
