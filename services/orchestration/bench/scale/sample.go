package main

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/query/criteria"
)

// samples are stored documents whose values are the operands of criteria, by collection.
type samples map[query.Collection]proto.Message

// behind is how many runs are newer than the samples, or a little fewer: as many in a small as in a large store.
const behind = 5000

func samplesOf(n int) samples {
	i := max(n-behind, 22)
	i -= i % 22 // The run failed, and has a deployment.
	for (n-i)%10 == 7 {
		i += 22 // Its name is that of others too.
	}
	task := i - i%5 + 1
	return samples{
		query.FlowRun: flowRun(i, n), query.TaskRun: taskRun(task, n), query.Flow: flow(3), query.Deployment: deployment(3),
		query.WorkPool: workPool(0), query.WorkQueue: workQueue(3), query.Log: logLine(task+1, n),
		query.Artifact: artifact(i-i%100+3, n), query.ArtifactLatest: latestArtifact(3, n),
	}
}

// set gives a criterion of a filter an operand: the value of the sample, or one that no document has.
func (s samples) set(c query.Collection, path criteria.Path, v variant, filter protoreflect.Message) {
	value, in := s.find(c, path)
	m, fd := path.Leaf(filter)
	assign(m, fd, v, value, in)
}

// find returns the value of the sample at a path, and its field; nil when the sample has none.
func (s samples) find(c query.Collection, path criteria.Path) (v protoreflect.Value, in protoreflect.FieldDescriptor) {
	m := s[c].ProtoReflect()
	for i, step := range path[:len(path)-1] {
		name := protoreflect.Name(restjson.Options(step).GetPath())
		switch name {
		case "_id":
			name = "id"
		case "":
			name = step.Name()
		}
		fd := m.Descriptor().Fields().ByName(name)
		if fd == nil || !m.Has(fd) {
			return v, nil
		}
		if v, in = m.Get(fd), fd; i < len(path)-2 {
			m = v.Message()
		}
	}
	if in != nil && in.IsList() {
		v = v.List().Get(v.List().Len() - 1)
	}
	return v, in
}

func assign(m protoreflect.Message, fd protoreflect.FieldDescriptor, v variant, sample protoreflect.Value, in protoreflect.FieldDescriptor) {
	switch {
	case fd.IsList():
		m.Mutable(fd).List().Append(scalar(fd, v, sample, in))
	case fd.Message() == nil:
		m.Set(fd, scalar(fd, v, sample, in))
	case in != nil && in.Message() == fd.Message():
		m.Set(fd, sample)
	case fd.Message().FullName() == "google.protobuf.Timestamp":
		m.Set(fd, protoreflect.ValueOfMessage(at(0, behind).ProtoReflect()))
	default:
		inner := fd.Message().Fields()
		for i := range inner.Len() {
			assign(m.Mutable(fd).Message(), inner.Get(i), v, sample, in)
		}
	}
}

// scalar is the sample, or another value of the field's type.
func scalar(fd protoreflect.FieldDescriptor, v variant, sample protoreflect.Value, in protoreflect.FieldDescriptor) protoreflect.Value {
	if in != nil && in.Kind() == fd.Kind() && fd.Kind() != protoreflect.BoolKind {
		return sample
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(v.value)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(20)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(20)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(orchv1.StateType_STATE_TYPE_FAILED))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(`{"a":1}`))
	}
	if restjson.Options(fd).GetFormat() == orchv1.Format_FORMAT_UUID {
		return protoreflect.ValueOfString(known("absent", 0).String())
	}
	return protoreflect.ValueOfString("absent")
}
