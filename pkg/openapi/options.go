package openapi

import (
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Package restjson reads the options of fields and messages; this file reads those of services and methods.

func methodOptions(md protoreflect.MethodDescriptor) *orchv1.RestMethod {
	o, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod)
	return o
}

func serviceOptions(sd protoreflect.ServiceDescriptor) *orchv1.RestService {
	o, _ := proto.GetExtension(sd.Options(), orchv1.E_Service).(*orchv1.RestService)
	return o
}

// bindings returns the HTTP bindings of a method, the main one first.
func bindings(md protoreflect.MethodDescriptor) []*annotations.HttpRule {
	rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule.GetPattern() == nil {
		return nil
	}
	return append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...)
}

// words gives the JSON words of an enum, in order; the unspecified value has none.
func words(ed protoreflect.EnumDescriptor) []string {
	var out []string
	for i := range ed.Values().Len() {
		if name, ok := restjson.EnumWord(ed, ed.Values().Get(i).Number()); ok {
			out = append(out, name)
		}
	}
	return out
}
