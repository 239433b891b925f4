package query

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fields holds a document as plain Go values by dotted path: string, int64 (microseconds), bool, []string. An absent
// field has no entry; a nested document has an entry of struct{}{}.
type fields map[string]any

// flatten returns the fields of a stored message.
func flatten(m protoreflect.Message, prefix string, into fields) {
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		path := prefix + string(fd.Name())
		if path == "id" {
			path = "_id"
		}
		if restjson.Computed(fd) || (fd.HasPresence() && !m.Has(fd)) || fd.IsMap() {
			continue
		}
		switch {
		case fd.IsList():
			if fd.Kind() == protoreflect.StringKind {
				into[path] = plain(fd, m.Get(fd))
			}
		case fd.Message() != nil && fd.Message().FullName() != "google.protobuf.Timestamp":
			into[path] = struct{}{}
			flatten(m.Get(fd).Message(), path+".", into)
		default:
			if v := plain(fd, m.Get(fd)); v != nil {
				into[path] = v
			}
		}
	}
}

// plain converts the value of a field, or the items of a list, to Go values.
func plain(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case fd.IsList():
		var list []string
		for i := range v.List().Len() {
			list = append(list, plainScalar(fd, v.List().Get(i)).(string))
		}
		return list
	case fd.Message() != nil && restjson.Shape(fd.Message()).GetInline():
		inner := fd.Message().Fields().Get(0)
		return plain(inner, v.Message().Get(inner))
	}
	return plainScalar(fd, v)
}

func plainScalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return v.String()
	case protoreflect.BoolKind:
		return v.Bool()
	case protoreflect.EnumKind:
		word, _ := restjson.EnumWord(fd.Enum(), v.Enum())
		return word
	case protoreflect.Int64Kind:
		return v.Int()
	case protoreflect.MessageKind:
		if t, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
			return t.AsTime().UnixMicro()
		}
	}
	return nil
}

// holds evaluates a filter message on a document, as the filter's documentation defines it. others evaluates criteria
// on other collections.
func holds(m protoreflect.Message, doc fields, path string, others func(name protoreflect.FullName, m protoreflect.Message) bool) bool {
	switch f := m.Interface().(type) {
	case *orchv1.TaskRunFilterFlowRunId:
		v, present := doc[path]
		switch {
		case f.GetIsNull_():
			return !present
		case f.Any_ != nil:
			return present && slices.Contains(f.Any_.Values, v.(string))
		}
		return f.IsNull_ == nil || present
	case *orchv1.DeploymentFilterConcurrencyLimit:
		return true
	}
	fds := m.Descriptor().Fields()
	var results []bool
	for i := range fds.Len() {
		fd := fds.Get(i)
		if fd.Name() == operatorField || !m.Has(fd) || omitsEmpty[m.Descriptor().FullName()] && lacksCriteria(m.Get(fd).Message()) {
			continue
		}
		at := path
		switch fd.FullName() {
		case "orch.v1.FlowFilter.deployment", "orch.v1.FlowRunFilter.parent_flow_run_id",
			"orch.v1.TaskRunFilter.subflow_runs", "orch.v1.DeploymentFilter.flow_or_deployment_name":
			results = append(results, others(fd.FullName(), m.Get(fd).Message()))
			continue
		case "orch.v1.FlowRunFilter.start_time":
			f := m.Get(fd).Message().Interface().(*orchv1.OptionalTimeFilter)
			bounds, null := &orchv1.OptionalTimeFilter{Before_: f.Before_, After_: f.After_}, &orchv1.OptionalTimeFilter{IsNull_: f.IsNull_}
			results = append(results, holds(bounds.ProtoReflect(), doc, "sort_start", others) && holds(null.ProtoReflect(), doc, "start_time", others))
			continue
		case "orch.v1.FlowRunFilterCreatedBy.id_":
			at += ".id"
		case "orch.v1.FlowRunFilterCreatedBy.type_":
			at += ".type"
		}
		if strings.HasSuffix(string(fd.Name()), "_") {
			list := fds.ByName("all_") != nil
			results = append(results, operatorHolds(string(fd.Name()), plain(fd, m.Get(fd)), doc, at, list))
			continue
		}
		results = append(results, holds(m.Get(fd).Message(), doc, join2(path, fieldPath(fd)), others))
	}
	if disjunctive(m) && len(results) > 0 {
		return slices.Contains(results, true)
	}
	return !slices.Contains(results, false)
}

func operatorHolds(op string, operand any, doc fields, path string, list bool) bool {
	v, present := doc[path]
	operands, _ := operand.([]string)
	if list {
		have, _ := v.([]string)
		switch op {
		case "any_":
			return slices.ContainsFunc(have, func(s string) bool { return slices.Contains(operands, s) })
		case "all_":
			return !slices.ContainsFunc(operands, func(s string) bool { return !slices.Contains(have, s) })
		case "is_null_":
			return (len(have) == 0) == operand.(bool)
		}
		panic(op)
	}
	switch op {
	case "is_null_":
		return present != operand.(bool)
	case "not_any_":
		return len(operands) == 0 || present && !slices.Contains(operands, v.(string))
	}
	if !present {
		return false
	}
	switch op {
	case "any_", "id_", "type_":
		return slices.Contains(operands, v.(string))
	case "eq_":
		return v == operand
	case "before_":
		return v.(int64) <= operand.(int64)
	case "after_":
		return v.(int64) >= operand.(int64)
	case "like_":
		return containsInOrder(strings.ToLower(v.(string)), strings.Split(strings.ToLower(operand.(string)), "%"))
	case "startswith_":
		return slices.ContainsFunc(operands, func(p string) bool {
			return strings.HasPrefix(strings.ToLower(v.(string)), strings.ToLower(p))
		})
	}
	panic(fmt.Sprintf("no meaning for %s", op))
}

// containsInOrder reports whether a text contains the parts one after the other.
func containsInOrder(text string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
