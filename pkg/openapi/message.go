package openapi

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/proto/gen/comments"
)

// Messages with a predefined JSON form.
const (
	timestampName protoreflect.FullName = "google.protobuf.Timestamp"
	durationName  protoreflect.FullName = "google.protobuf.Duration"
	structName    protoreflect.FullName = "google.protobuf.Struct"
	valueName     protoreflect.FullName = "google.protobuf.Value"
	emptyName     protoreflect.FullName = "google.protobuf.Empty"
	maskName      protoreflect.FullName = "google.protobuf.FieldMask"
	httpBodyName  protoreflect.FullName = "google.api.HttpBody"
)

// bodyPrefix begins the published names of bodies that are described where they are sent.
const bodyPrefix = "Body_"

// message returns the schema that refers to a message: a reference, or the schema itself where it is inlined. name is
// the published name that the referring field sets; empty means the message's own.
func (g *generator) message(md protoreflect.MessageDescriptor, name string, dir direction) (*schema, error) {
	switch md.FullName() {
	case timestampName:
		return &schema{Type: "string", Format: "date-time"}, nil
	case durationName:
		return duration(dir), nil
	case structName:
		return &schema{Type: "object", Additional: true}, nil
	case valueName:
		return anything(), nil
	case httpBodyName:
		return &schema{Type: "string", Format: "binary"}, nil
	}
	if md.ParentFile().Package().Parent() == "google" {
		return nil, fmt.Errorf("%s has no JSON form here", md.FullName())
	}
	shape := restjson.Shape(md)
	if name == "" {
		name = shape.GetSchema()
	}
	if g.opts.Brief && strings.HasPrefix(name, bodyPrefix) {
		name = string(md.Name())
	}
	if name == "" && (shape.GetInline() || shape.GetTuple()) {
		return g.describe(md, dir)
	}
	if name == "" {
		name = string(md.Name())
	}
	key := componentKey{name: name, descriptor: md.FullName()}
	if g.components.holdsDuration(md) {
		key.direction = dir
	}
	component, fresh := g.components.declare(key)
	if fresh {
		described, err := g.describe(md, dir)
		if err != nil {
			return nil, err
		}
		component.schema = described
	}
	return &schema{Ref: reference{component}}, nil
}

// describe returns the schema of a message itself.
func (g *generator) describe(md protoreflect.MessageDescriptor, dir direction) (*schema, error) {
	shape := restjson.Shape(md)
	var out *schema
	var err error
	switch {
	case shape.GetInline():
		if md.Fields().Len() != 1 {
			return nil, fmt.Errorf("%s: an inline message has one field", md.FullName())
		}
		if out, err = g.field(md.Fields().Get(0), dir); err == nil {
			out = modifiable(out)
		}
	case shape.GetTuple():
		out, err = g.tuple(md, dir)
	case restjson.Union(md) != nil:
		out, err = g.union(md, dir)
	default:
		out, err = g.object(md, dir)
	}
	if err != nil {
		return nil, err
	}
	// The comment of an unnamed nullable wrapper does not describe the value; that of a published one does.
	wrapper := shape.GetInline() && shape.GetSchema() == "" && (out.Type == "array" || out.Type == "object")
	if text := comments.Of(string(md.FullName())); text != "" && !wrapper {
		out.Description = text
	}
	out.Title = shape.GetTitle()
	return out, nil
}

func (g *generator) object(md protoreflect.MessageDescriptor, dir direction) (*schema, error) {
	shape := restjson.Shape(md)
	out := &schema{Type: "object", Properties: newOrdered[*schema]()}
	if key := shape.GetTagKey(); key != "" {
		out.Properties.set(key, &schema{
			Type: "string", Enum: []string{shape.GetTag()}, Default: quote(shape.GetTag()),
			Description: fmt.Sprintf("Kind of the object; always %q.", shape.GetTag()),
		})
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if restjson.Internal(fd) || isMask(fd) {
			continue
		}
		property, err := g.field(fd, dir)
		if err != nil {
			return nil, err
		}
		if restjson.Options(fd).GetExtra() {
			out.Additional = additional(property)
			continue
		}
		name := restjson.Name(fd)
		if _, twice := out.Properties.get(name); twice {
			return nil, fmt.Errorf("%s: two fields are named %q", md.FullName(), name)
		}
		out.Properties.set(name, property)
		if restjson.Options(fd).GetRequired() {
			out.Required = append(out.Required, name)
		}
	}
	if shape.GetStrict() {
		out.Additional = false
	}
	return out, nil
}

// additional returns the schema of unnamed keys, from that of the map that collects them.
func additional(property *schema) any {
	if values, ok := property.Additional.(*schema); ok && !values.isAny() {
		return values
	}
	return true
}

// tuple describes an array whose elements differ by index. OpenAPI 3.0 cannot express the order, so each element may
// be any of them.
func (g *generator) tuple(md protoreflect.MessageDescriptor, dir direction) (*schema, error) {
	fields := make([]protoreflect.FieldDescriptor, md.Fields().Len())
	for i := range fields {
		fields[i] = md.Fields().Get(i)
	}
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
	var elements []*schema
	for _, fd := range fields {
		element, err := g.field(fd, dir)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(elements, element.same) {
			elements = append(elements, element)
		}
	}
	items := &schema{AnyOf: elements}
	if len(elements) == 1 {
		items = elements[0]
	}
	size := uint32(len(fields)) // A message has few fields.
	return &schema{Type: "array", MinItems: size, MaxItems: size, Items: items}, nil
}

// union describes a message with one of several variants. A discriminator distinguishes tagged variants.
func (g *generator) union(md protoreflect.MessageDescriptor, dir direction) (*schema, error) {
	key := restjson.Shape(md).GetDiscriminator()
	mapping := newOrdered[reference]()
	var variants []*schema
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		variant, err := g.field(fd, dir)
		if err != nil {
			return nil, err
		}
		variants = append(variants, variant)
		if key == "" {
			continue
		}
		if fd.Message() == nil || restjson.Shape(fd.Message()).GetTagKey() != key || variant.Ref.to == nil {
			return nil, fmt.Errorf("%s: the variant %s carries no tag %q", md.FullName(), fd.Name(), key)
		}
		mapping.set(restjson.Shape(fd.Message()).GetTag(), variant.Ref)
	}
	if key == "" {
		return &schema{AnyOf: variants}, nil
	}
	return &schema{OneOf: variants, Discriminator: &discriminator{PropertyName: key, Mapping: mapping}}, nil
}

func isMask(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == maskName
}
