package openapi

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Services returns all services of the contract, ordered by file and then as declared.
func Services() []protoreflect.ServiceDescriptor {
	var files []protoreflect.FileDescriptor
	// Referring to the package links all of its files into the program, which registers them.
	own := orchv1.File_orch_v1_rest_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(own, func(fd protoreflect.FileDescriptor) bool {
		files = append(files, fd)
		return true
	})
	slices.SortFunc(files, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	var out []protoreflect.ServiceDescriptor
	for _, fd := range files {
		for i := range fd.Services().Len() {
			out = append(out, fd.Services().Get(i))
		}
	}
	return out
}
