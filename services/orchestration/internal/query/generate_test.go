package query

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The value sets of the tests are small, so filters match documents. Many values look like operators, patterns or
// paths.
var (
	someIDs = []string{
		"01010101-0101-4101-8101-010101010101", "02020202-0202-4202-8202-020202020202",
		"03030303-0303-4303-8303-030303030303", "04040404-0404-4404-8404-040404040404",
		"05050505-0505-4505-8505-050505050505",
	}
	someTexts = []string{"", "a", "A", "a_b", "axb", "A%", "a%B", "$where", "a.b", "^a", ".*", "a\x00", "É é", "state.type", "(", "[a-z]", "\\"}
	someTimes = []int64{-1, 0, 1_000_001}
)

// generateFields sets fields of m to random values of these sets.
func generateFields(t *rapid.T, m protoreflect.Message) {
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		must := !fd.HasPresence() && !fd.IsList() && !fd.IsMap() // Fields that are never absent.
		if !fd.IsMap() && (must || rapid.IntRange(0, 2).Draw(t, "set "+string(fd.Name())) > 0) {
			generateField(t, m, fd)
		}
	}
}

func generateField(t *rapid.T, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	switch {
	case fd.IsList():
		generateItems(t, m.Mutable(fd).List(), fd)
	case fd.Message() == nil:
		m.Set(fd, generateScalar(t, fd))
	case fd.Message().FullName() == "google.protobuf.Timestamp":
		us := rapid.SampledFrom(someTimes).Draw(t, "time")
		ts := &timestamppb.Timestamp{Seconds: us / 1_000_000, Nanos: int32(us % 1_000_000 * 1000)}
		if ts.Nanos < 0 {
			ts = &timestamppb.Timestamp{Seconds: ts.Seconds - 1, Nanos: ts.Nanos + 1_000_000_000}
		}
		m.Set(fd, protoreflect.ValueOfMessage(ts.ProtoReflect()))
	case restjson.Shape(fd.Message()).GetInline():
		inner := m.Mutable(fd).Message()
		if ifd := fd.Message().Fields().Get(0); ifd.IsList() {
			generateItems(t, inner.Mutable(ifd).List(), ifd)
		}
	default:
		generateFields(t, m.Mutable(fd).Message())
	}
}

func generateItems(t *rapid.T, l protoreflect.List, fd protoreflect.FieldDescriptor) {
	for range rapid.IntRange(0, 2).Draw(t, "items") {
		l.Append(generateScalar(t, fd))
	}
}

func generateScalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	label := string(fd.Name())
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, label))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64Range(0, 3).Draw(t, label))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.IntRange(1, min(3, fd.Enum().Values().Len()-1)).Draw(t, label)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(`{"$where": "1"}`))
	}
	if restjson.Options(fd).GetFormat() == orchv1.Format_FORMAT_UUID {
		return protoreflect.ValueOfString(rapid.SampledFrom(someIDs).Draw(t, label))
	}
	return protoreflect.ValueOfString(rapid.SampledFrom(someTexts).Draw(t, label))
}

// generateFilter sets one or two criteria of a filter: more of them would rarely match.
func generateFilter(t *rapid.T, m protoreflect.Message) {
	fds := m.Descriptor().Fields()
	if fd := fds.ByName(operatorField); fd != nil {
		m.Set(fd, generateScalar(t, fd))
	}
	for range rapid.IntRange(1, 2).Draw(t, "criteria") {
		fd := fds.Get(rapid.IntRange(0, fds.Len()-1).Draw(t, "criterion"))
		switch {
		case fd.Name() == operatorField:
		case fd.Message() != nil && fd.Message().FullName() != "google.protobuf.Timestamp" &&
			!restjson.Shape(fd.Message()).GetInline():
			generateFilter(t, m.Mutable(fd).Message())
		default:
			generateField(t, m, fd)
		}
	}
}

// generate returns a random message with values of these sets.
func generate[M proto.Message](t *rapid.T) M {
	var zero M
	m := zero.ProtoReflect().New()
	generateFields(t, m)
	return m.Interface().(M)
}
