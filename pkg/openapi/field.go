package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/proto/gen/comments"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// field returns the schema of a field's value within a message. The result is a bare reference only if the field adds
// nothing to it.
func (g *generator) field(fd protoreflect.FieldDescriptor, dir direction) (*schema, error) {
	o := restjson.Options(fd)
	out, err := g.container(fd, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fd.FullName(), err)
	}
	note := comments.Of(string(fd.FullName()))
	nullable := fd.HasOptionalKeyword()
	if note == "" && !nullable && !o.GetDeprecated() && !o.GetComputed() && o.GetDefault() == "" {
		return out, nil
	}
	out = modifiable(out)
	if note != "" {
		out.Description = note
	}
	out.Nullable = out.Nullable || nullable
	out.Deprecated = o.GetDeprecated()
	out.ReadOnly = o.GetComputed()
	if o.GetDefault() != "" {
		if out.Default, err = defaultValue(fd, o.GetDefault(), dir); err != nil {
			return nil, err
		}
	}
	if len(out.AllOf) > 0 && bytes.HasPrefix(out.Default, []byte("{")) {
		out.Default = nil // Generators reject an object as the default of a reference; the description states it.
	}
	return out, nil
}

// container returns the schema of a field's list, map or single value.
func (g *generator) container(fd protoreflect.FieldDescriptor, dir direction) (*schema, error) {
	o := restjson.Options(fd)
	switch {
	case fd.IsMap():
		values, err := g.value(fd.MapValue(), o, dir)
		if err != nil {
			return nil, err
		}
		out := &schema{Type: "object", Additional: values, MaxProperties: o.GetMaxItems(), MaxKeyLength: o.GetMaxKeyLength()}
		if values.isAny() {
			out.Additional = true
		}
		return out, nil
	case fd.IsList():
		items, err := g.value(fd, o, dir)
		if err != nil {
			return nil, err
		}
		return &schema{
			Type: "array", Items: items, MinItems: o.GetMinItems(), MaxItems: o.GetMaxItems(), UniqueItems: o.GetUnique(),
		}, nil
	default:
		one, err := g.value(fd, o, dir)
		if err != nil {
			return nil, err
		}
		if one.Type == "array" && fd.Kind() == protoreflect.MessageKind {
			// For a nullable list the referring field sets the limits.
			one.MinItems, one.MaxItems = max(one.MinItems, o.GetMinItems()), max(one.MaxItems, o.GetMaxItems())
			one.UniqueItems = one.UniqueItems || o.GetUnique()
		}
		return one, nil
	}
}

// value returns the schema of one value. The options are those of the field that holds it, which for a map is not fd.
func (g *generator) value(fd protoreflect.FieldDescriptor, o *orchv1.RestField, dir direction) (*schema, error) {
	out := &schema{}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		out.Type = "boolean"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		out.Type, out.Format = "integer", "int32"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		out.Type, out.Format = "integer", "int64"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		out.Type, out.Minimum = "integer", new(float64) // OpenAPI has no unsigned format.
	case protoreflect.FloatKind:
		out.Type, out.Format = "number", "float"
	case protoreflect.DoubleKind:
		out.Type, out.Format = "number", "double"
	case protoreflect.StringKind:
		out.Type = "string"
		switch o.GetFormat() {
		case orchv1.Format_FORMAT_UUID:
			out.Format = "uuid"
		case orchv1.Format_FORMAT_URI:
			out.Format = "uri"
		}
	case protoreflect.BytesKind:
		if o.GetFormat() == orchv1.Format_FORMAT_JSON_OBJECT {
			out.Type, out.Additional = "object", true
		} else {
			out = anything()
		}
		out.MaxBytes = o.GetMaxBytes()
	case protoreflect.EnumKind:
		out = g.enum(fd.Enum())
	case protoreflect.MessageKind:
		var err error
		out, err = g.message(fd.Message(), o.GetSchema(), dir)
		if err != nil || fd.Message().FullName() == durationName {
			return out, err // The bounds of a duration are in seconds, and a text has none.
		}
	default:
		return nil, fmt.Errorf("a %s has no JSON form", fd.Kind())
	}
	return bounded(out, o), nil
}

// bounded adds the limits of a field to the schema of its value.
func bounded(s *schema, o *orchv1.RestField) *schema {
	if o == nil || (o.GetPattern() == "" && o.GetMinLength() == 0 && o.GetMaxLength() == 0 && o.Min == nil && o.Max == nil) {
		return s
	}
	s = modifiable(s)
	s.Pattern, s.MinLength, s.MaxLength = o.GetPattern(), o.GetMinLength(), o.GetMaxLength()
	if o.Min != nil {
		s.Minimum = o.Min
	}
	s.Maximum = o.Max
	s.ExclusiveMinimum = o.Min != nil && o.GetExclusiveMin()
	return s
}

func (g *generator) enum(ed protoreflect.EnumDescriptor) *schema {
	component, fresh := g.components.declare(componentKey{name: string(ed.Name()), descriptor: ed.FullName()})
	if fresh {
		component.schema = &schema{Type: "string", Enum: words(ed), Description: comments.Of(string(ed.FullName()))}
	}
	return &schema{Ref: reference{component}}
}

// modifiable returns a schema that accepts further members: OpenAPI 3.0 ignores siblings of a $ref.
func modifiable(s *schema) *schema {
	if s.Ref.to == nil {
		return s
	}
	return &schema{AllOf: []*schema{s}}
}

func (s *schema) same(other *schema) bool { return reflect.DeepEqual(s, other) }

// anything returns the schema of free JSON. Parsers disagree on whether an untyped schema admits null, so it is explicit.
func anything() *schema { return &schema{Nullable: true} }

// isAny reports whether a schema admits any value.
func (s *schema) isAny() bool { return s.same(anything()) }

func quote(text string) json.RawMessage {
	out, _ := json.Marshal(text) //nolint:errchkjson // A string is always valid.
	return out
}
