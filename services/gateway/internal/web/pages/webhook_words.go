package pages

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// enumWord returns the REST name of an enum value, empty for none.
func enumWord(value protoreflect.Enum) string {
	name, _ := restjson.EnumWord(value.Descriptor(), value.Number())
	return name
}

// enumWords returns the REST names of all values of an enum.
func enumWords(descriptor protoreflect.EnumDescriptor) []string {
	var words []string
	for i := range descriptor.Values().Len() {
		if name, _ := restjson.EnumWord(descriptor, descriptor.Values().Get(i).Number()); name != "" {
			words = append(words, name)
		}
	}
	return words
}
