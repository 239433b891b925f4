package openapi

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// parameters describes path variables in the order of the path, then query and header parameters as declared, then the
// version header.
func (g *generator) parameters(md protoreflect.MethodDescriptor, template string) ([]parameter, error) {
	var out []parameter
	fields := md.Input().Fields()
	for _, match := range variable.FindAllStringSubmatch(template, -1) {
		fd := fields.ByName(protoreflect.Name(match[1]))
		if fd == nil {
			return nil, fmt.Errorf("%s has no field for the path variable %q", md.Input().FullName(), match[1])
		}
		one, err := g.parameter(fd, "path")
		if err != nil {
			return nil, err
		}
		one.Name, one.Required = match[1], true
		out = append(out, one)
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		in, ok := locations[restjson.Options(fd).GetIn()]
		if !ok || restjson.Internal(fd) {
			continue
		}
		one, err := g.parameter(fd, in)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if g.opts.Header != "" && !methodOptions(md).GetAnyVersion() {
		out = append(out, parameter{
			Name:        strings.ToLower(g.opts.Header),
			In:          "header",
			Description: "API version that the client was written for, as major.minor.patch; absent means the newest.",
			Schema:      &schema{Type: "string"},
		})
	}
	return out, nil
}

var locations = map[orchv1.In]string{orchv1.In_IN_QUERY: "query", orchv1.In_IN_HEADER: "header"}

func (g *generator) parameter(fd protoreflect.FieldDescriptor, in string) (parameter, error) {
	s, err := g.field(fd, input)
	if err != nil {
		return parameter{}, err
	}
	one := parameter{
		Name:        restjson.Name(fd),
		In:          in,
		Required:    restjson.Options(fd).GetRequired(),
		Description: s.Description,
		Deprecated:  s.Deprecated,
	}
	// A parameter is absent, never null; the description belongs to the parameter, not to its schema.
	s.Description, s.Deprecated, s.Nullable = "", false, false
	if len(s.AllOf) == 1 && s.same(&schema{AllOf: s.AllOf}) {
		s = s.AllOf[0]
	}
	one.Schema = s
	return one, nil
}
