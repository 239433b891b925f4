// Package criteria enumerates the criteria of the contract's filter messages, for tests and benchmarks that cover them all.
package criteria

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Path leads from a filter message to one criterion: the nested messages, and the field of the criterion at last.
type Path []protoreflect.FieldDescriptor

// String is the path as clients write it, with dots.
func (p Path) String() string {
	names := make([]string, len(p))
	for i, fd := range p {
		names[i] = string(fd.Name())
	}
	return strings.Join(names, ".")
}

// Leaf returns the message that has the criterion, made within the filter message, and the criterion's field.
func (p Path) Leaf(filter protoreflect.Message) (protoreflect.Message, protoreflect.FieldDescriptor) {
	last := len(p) - 1
	for _, fd := range p[:last] {
		filter = filter.Mutable(fd).Message()
	}
	return filter, p[last]
}

// Of returns the paths of all criteria of a filter message, in the order of its fields. The operator that joins criteria is none.
func Of(filter protoreflect.MessageDescriptor) []Path { return below(filter, nil) }

func below(md protoreflect.MessageDescriptor, parent Path) []Path {
	var all []Path
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		path := append(parent[:len(parent):len(parent)], fd)
		switch {
		case fd.Name() == "operator":
		case strings.HasSuffix(string(fd.Name()), "_") || fd.Message() == nil:
			all = append(all, path)
		default:
			all = append(all, below(fd.Message(), path)...)
		}
	}
	return all
}
