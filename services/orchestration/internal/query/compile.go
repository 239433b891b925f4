package query

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// operatorField names the field of a filter message that selects how its criteria are joined.
const operatorField = "operator"

// Filter is a compiled filter message. The zero Filter matches every document.
type Filter struct{ root node }

// Compile compiles a filter message. A nil or empty message matches every document.
func Compile(m proto.Message) (Filter, error) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return Filter{root: matchAll{}}, nil
	}
	n, err := compileMessage(m.ProtoReflect(), "")
	if err != nil {
		return Filter{}, fmt.Errorf("query: %w", err)
	}
	return Filter{root: n}, nil
}

// BSON returns the MongoDB filter, without the workspace. It returns ErrRelated when the filter refers to other
// collections: such a filter needs a Plan.
func (f Filter) BSON() (bson.D, error) {
	if f.root == nil {
		return bson.D{}, nil
	}
	return toBSON(f.root)
}

// omitsEmpty are the filters in which criteria without operands are no criteria. In all others they match everything, which
// makes a difference below or_.
var omitsEmpty = map[protoreflect.FullName]bool{
	"orch.v1.FlowRunFilterState": true, "orch.v1.TaskRunFilterState": true,
}

// lacksCriteria reports whether a filter message has no criteria.
func lacksCriteria(m protoreflect.Message) bool {
	lacks := true
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		lacks = fd.Name() == operatorField
		return lacks
	})
	return lacks
}

// compileMessage joins the criteria of one filter message whose fields are stored at path.
func compileMessage(m protoreflect.Message, path string) (node, error) {
	if special := specialMessage(m.Descriptor().FullName()); special != nil {
		return special(m, path)
	}
	list := hasOperator(m.Descriptor(), "all_")
	var kids []node
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		name := string(fd.Name())
		if name == operatorField || !m.Has(fd) || omitsEmpty[m.Descriptor().FullName()] && lacksCriteria(m.Get(fd).Message()) {
			continue
		}
		n, err := compileField(m, fd, path, list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		kids = append(kids, n)
	}
	if disjunctive(m) {
		return or(kids...), nil
	}
	return and(kids...), nil
}

func compileField(m protoreflect.Message, fd protoreflect.FieldDescriptor, path string, list bool) (node, error) {
	if special := specialField(fd.FullName()); special != nil {
		return special(m.Get(fd).Message(), path)
	}
	if strings.HasSuffix(string(fd.Name()), "_") {
		return compileOperator(m, fd, path, list)
	}
	if fd.Message() == nil || fd.IsList() || fd.IsMap() {
		return nil, fmt.Errorf("%w: neither an operator nor a nested filter", ErrUnsupported)
	}
	return compileMessage(m.Get(fd).Message(), join2(path, fieldPath(fd)))
}

// fieldPath returns the path of the document field that a filter's field refers to.
func fieldPath(fd protoreflect.FieldDescriptor) string {
	if p := restjson.Options(fd).GetPath(); p != "" {
		return p
	}
	return string(fd.Name())
}

func join2(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// disjunctive reports whether a filter message joins its criteria by or.
func disjunctive(m protoreflect.Message) bool {
	fd := m.Descriptor().Fields().ByName(operatorField)
	return fd != nil && orchv1.Operator(m.Get(fd).Enum()) == orchv1.Operator_OPERATOR_OR
}

// hasOperator reports whether a leaf message has an operator. A message with all_ filters a list.
func hasOperator(md protoreflect.MessageDescriptor, name protoreflect.Name) bool {
	return md.Fields().ByName(name) != nil
}
