// Package fieldmask applies the sent fields of an update to a resource.
//
// A mask names the top-level keys of a request's body (docs/contract.md, rule 10). Fields of the resource and of the
// update with the same name and type have the same meaning. So a new field of both needs no code:
//
//	sent          the resource's field
//	a value       becomes that value; lists and maps are replaced, not merged
//	null          is cleared if it is optional, emptied if it is a list, a map or free JSON, and unchanged otherwise:
//	              a field that always has a value cannot lose it
//	absent        is unchanged
package fieldmask

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/protobson"
)

// Apply copies the fields that a mask names from an update to a resource. It returns the names that the caller must
// handle: those in except, and those that are not stored fields of one type in both messages. The resource then shares
// lists and messages with the update.
func Apply(resource, update proto.Message, mask []string, except ...protoreflect.Name) []string {
	dst, src := resource.ProtoReflect(), update.ProtoReflect()
	own := make(map[protoreflect.Name]bool, len(except))
	for _, name := range except {
		own[name] = true
	}
	var rest []string
	for _, path := range mask {
		name := protoreflect.Name(path)
		to, from := dst.Descriptor().Fields().ByName(name), src.Descriptor().Fields().ByName(name)
		if own[name] || !alike(to, from) {
			rest = append(rest, path)
			continue
		}
		switch {
		case src.Has(from), zero(from) && to.HasPresence():
			dst.Set(to, src.Get(from))
		case zero(from), to.HasOptionalKeyword(), collects(to):
			dst.Clear(to)
		}
	}
	return rest
}

// alike reports whether two fields have one type, and the first one is stored.
func alike(to, from protoreflect.FieldDescriptor) bool {
	if to == nil || from == nil || to.Kind() != from.Kind() || to.Cardinality() != from.Cardinality() || to.IsMap() != from.IsMap() {
		return false
	}
	if to.Message() != nil && to.Message().FullName() != from.Message().FullName() {
		return false
	}
	if to.Enum() != nil && to.Enum().FullName() != from.Enum().FullName() {
		return false
	}
	_, stored := protobson.Key(to)
	return stored
}

// zero reports whether an unset field may have been sent as the zero value of its type.
func zero(fd protoreflect.FieldDescriptor) bool { return !fd.HasPresence() && !collects(fd) }

// collects reports whether a field has an empty form besides its values. Free JSON is bytes.
func collects(fd protoreflect.FieldDescriptor) bool {
	return fd.IsList() || fd.IsMap() || fd.Kind() == protoreflect.BytesKind
}
