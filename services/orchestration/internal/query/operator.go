package query

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/restjson"
)

// comparisons are the operators whose MongoDB counterpart has the same operand and excludes absent fields.
var comparisons = map[protoreflect.Name]string{
	"any_": "$in", "eq_": "$eq", "before_": "$lte", "le_": "$lte", "after_": "$gte", "ge_": "$gte",
}

// compileOperator compiles the operator fd of the leaf message m for the document field at path. list means that the
// field is a list.
func compileOperator(m protoreflect.Message, fd protoreflect.FieldDescriptor, path string, list bool) (node, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: an operator without a field", ErrUnsupported)
	}
	v := m.Get(fd)
	if op, ok := comparisons[fd.Name()]; ok {
		operand, err := stored(fd, v)
		if err != nil {
			return nil, err
		}
		return criterion(path, op, operand), nil
	}
	switch fd.Name() {
	case "not_any_":
		return noneOf(fd, v, path)
	case "ne_":
		operand, err := stored(fd, v)
		if err != nil {
			return nil, err
		}
		return criterion(path, "$nin", bson.A{operand, nil}), nil
	case "all_":
		operand, err := stored(fd, v)
		if err != nil {
			return nil, err
		}
		if len(items(operand)) == 0 {
			return matchAll{}, nil // MongoDB's $all of an empty list matches nothing.
		}
		return criterion(path, "$all", operand), nil
	case "is_null_":
		return null(path, list, v.Bool()), nil
	case "exists_":
		return null(path, list, !v.Bool()), nil
	case "like_":
		return like(path, v.String())
	case "startswith_":
		return startsWith(fd, v, path)
	}
	return nil, fmt.Errorf("%w: no such operator", ErrUnsupported)
}

// stored returns an operand in its stored form. The operand of an operator on many values is an array.
func stored(fd protoreflect.FieldDescriptor, v protoreflect.Value) (bson.RawValue, error) {
	operand, err := protobson.Value(fd, v)
	if err != nil {
		return bson.RawValue{}, fmt.Errorf("%w: %w", ErrOperand, err)
	}
	return operand, nil
}

// items returns the values of a stored array. The server encoded it, so it is well-formed.
func items(array bson.RawValue) []bson.RawValue {
	values, err := bson.RawArray(array.Value).Values()
	if err != nil {
		panic(fmt.Sprintf("query: reading a stored operand: %v", err))
	}
	return values
}

func noneOf(fd protoreflect.FieldDescriptor, v protoreflect.Value, path string) (node, error) {
	operand, err := stored(fd, v)
	if err != nil {
		return nil, err
	}
	values := items(operand)
	if len(values) == 0 {
		return matchAll{}, nil
	}
	if vocab := fd.Message().Fields().Get(0).Enum(); vocab != nil {
		return criterion(path, "$in", otherWords(vocab, values)), nil
	}
	list := make(bson.A, 0, len(values)+1)
	for _, value := range values {
		list = append(list, value)
	}
	// null includes absence: NOT IN is not true for it.
	return criterion(path, "$nin", append(list, nil)), nil
}

// otherWords returns all names of an enum except some. A short list allows an index to return the order of a sort.
func otherWords(enum protoreflect.EnumDescriptor, but []bson.RawValue) bson.A {
	others := bson.A{}
	values := enum.Values()
	for i := range values.Len() {
		word, ok := restjson.EnumWord(enum, values.Get(i).Number())
		if ok && !slices.ContainsFunc(but, func(v bson.RawValue) bool { return v.StringValue() == word }) {
			others = append(others, word)
		}
	}
	return others
}

// null matches documents whose field is absent, or whose list is empty; or the contrary.
func null(path string, list, is bool) node {
	switch {
	case list && is:
		// An empty list is stored as an absent field, but an update may leave one. An index of the list has keys for both.
		return criterion(path, "$in", bson.A{nil, bson.A{}})
	case list:
		return criterion(path, "$nin", bson.A{nil, bson.A{}})
	case is:
		return criterion(path, "$eq", nil)
	}
	return criterion(path, "$ne", nil)
}

func startsWith(fd protoreflect.FieldDescriptor, v protoreflect.Value, path string) (node, error) {
	operand, err := stored(fd, v)
	if err != nil {
		return nil, err
	}
	values := items(operand)
	if len(values) == 0 {
		return never(path), nil
	}
	kids := make([]node, len(values))
	for i, value := range values {
		pattern, err := literal(value.StringValue())
		if err != nil {
			return nil, err
		}
		kids[i] = regex(path, "^"+pattern, "i")
	}
	return or(kids...), nil
}
