package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestNoInternalFieldIsPublished looks for the names of internal fields wherever a property or a parameter is named. A
// name that is public elsewhere may appear, but not in the schemas of a message that hides it.
func TestNoInternalFieldIsPublished(t *testing.T) {
	t.Parallel()
	hidden, public := map[string]bool{}, map[string]bool{}
	hiddenIn := map[string][]string{} // schema name → names that it must not have
	eachField(func(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) {
		o, _ := proto.GetExtension(fd.Options(), orchv1.E_Rest).(*orchv1.RestField)
		shape, _ := proto.GetExtension(md.Options(), orchv1.E_Shape).(*orchv1.RestShape)
		name := string(fd.Name())
		if !o.GetInternal() {
			public[name] = true
			return
		}
		hidden[name] = true
		published := string(md.Name())
		if shape.GetSchema() != "" {
			published = shape.GetSchema()
		}
		hiddenIn[published] = append(hiddenIn[published], name)
	})
	require.NotEmpty(t, hidden)

	d := load(t, contract(t, vocabulary.Orch))
	for name, s := range d.Components.Schemas {
		eachProperty(s, func(property string) {
			require.False(t, hidden[property] && !public[property], "%s has the internal property %q", name, property)
		})
		for _, property := range hiddenIn[name] {
			require.NotContains(t, asRaw(s["properties"]), property, name)
		}
	}
	for name, op := range d.operations() {
		for _, p := range op.Parameters {
			require.False(t, hidden[p.Name] && !public[p.Name], "%s has the internal parameter %q", name, p.Name)
		}
	}
}

func eachField(visit func(protoreflect.MessageDescriptor, protoreflect.FieldDescriptor)) {
	protoregistry.GlobalFiles.RangeFilesByPackage("orch.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			md := file.Messages().Get(i)
			for j := range md.Fields().Len() {
				visit(md, md.Fields().Get(j))
			}
		}
		return true
	})
}

// eachProperty visits the names of properties at any depth.
func eachProperty(v any, visit func(string)) {
	switch v := v.(type) {
	case raw:
		eachProperty(map[string]any(v), visit)
	case map[string]any:
		for name := range asRaw(v["properties"]) {
			visit(name)
		}
		for _, one := range v {
			eachProperty(one, visit)
		}
	case []any:
		for _, one := range v {
			eachProperty(one, visit)
		}
	}
}
