package openapi

import (
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func fieldOptions(fd protoreflect.FieldDescriptor) *orchv1.RestField {
	o, _ := proto.GetExtension(fd.Options(), orchv1.E_Rest).(*orchv1.RestField)
	return o
}

func shapeOptions(md protoreflect.MessageDescriptor) *orchv1.RestShape {
	o, _ := proto.GetExtension(md.Options(), orchv1.E_Shape).(*orchv1.RestShape)
	return o
}

func methodOptions(md protoreflect.MethodDescriptor) *orchv1.RestMethod {
	o, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod)
	return o
}

func serviceOptions(sd protoreflect.ServiceDescriptor) *orchv1.RestService {
	o, _ := proto.GetExtension(sd.Options(), orchv1.E_Service).(*orchv1.RestService)
	return o
}

// bindings gives the HTTP bindings of a method, the main one first.
func bindings(md protoreflect.MethodDescriptor) []*annotations.HttpRule {
	rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule.GetPattern() == nil {
		return nil
	}
	return append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...)
}

func internal(fd protoreflect.FieldDescriptor) bool { return fieldOptions(fd).GetInternal() }

// jsonName gives the JSON key, parameter or header name of a field.
func jsonName(fd protoreflect.FieldDescriptor) string {
	if name := fieldOptions(fd).GetName(); name != "" {
		return name
	}
	return string(fd.Name())
}

// isUnion tells whether a message is one oneof of variants and nothing else.
func isUnion(md protoreflect.MessageDescriptor) bool {
	return md.Oneofs().Len() == 1 && !md.Oneofs().Get(0).IsSynthetic() && md.Oneofs().Get(0).Fields().Len() == md.Fields().Len()
}

// words gives the JSON words of an enum, in order; the unspecified value has none.
func words(ed protoreflect.EnumDescriptor) []string {
	const unspecified = "UNSPECIFIED"
	prefix, zero := strings.CutSuffix(string(ed.Values().Get(0).Name()), unspecified)
	var out []string
	for i := range ed.Values().Len() {
		value := ed.Values().Get(i)
		if zero && value.Number() == 0 {
			continue
		}
		word, _ := proto.GetExtension(value.Options(), orchv1.E_Json).(string)
		if word == "" {
			word = string(value.Name())
			if zero {
				word = strings.TrimPrefix(word, prefix)
			}
		}
		out = append(out, word)
	}
	return out
}
