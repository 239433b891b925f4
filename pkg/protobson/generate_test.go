package protobson

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// generateInto fills m with random values that have a stored form: times of whole microseconds, names of enums, non-empty JSON.
// At depth 0 it leaves out messages, also those in lists and maps: a message can contain itself.
func generateInto(t *rapid.T, m protoreflect.Message, depth int) {
	fds := m.Descriptor().Fields()
	if od := restjson.Union(m.Descriptor()); od != nil {
		fd := od.Fields().Get(rapid.IntRange(0, od.Fields().Len()-1).Draw(t, "member"))
		m.Set(fd, generateValue(t, m.NewField(fd), fd, depth))
		return
	}
	for i := range fds.Len() {
		fd := fds.Get(i)
		if restjson.Computed(fd) || rapid.IntRange(0, 2).Draw(t, "set") == 0 || depth <= 0 && holdsMessages(fd) {
			continue
		}
		switch {
		case fd.IsList():
			l := m.NewField(fd).List()
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				var empty protoreflect.Value
				if fd.Message() != nil {
					empty = l.NewElement()
				}
				l.Append(generateValue(t, empty, fd, depth))
			}
			m.Set(fd, protoreflect.ValueOfList(l))
		case fd.IsMap():
			mp := m.NewField(fd).Map()
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				key := generateValue(t, protoreflect.Value{}, fd.MapKey(), depth).MapKey()
				if !restjson.Options(fd).GetPairs() && key.IsValid() && checkKey(key.String()) != nil {
					continue
				}
				if jsonFormat(fd) {
					mp.Set(key, jsonText(t)) // The option belongs to the map, not to its values.
					continue
				}
				mp.Set(key, generateValue(t, mp.NewValue(), fd.MapValue(), depth))
			}
			m.Set(fd, protoreflect.ValueOfMap(mp))
		default:
			var empty protoreflect.Value
			if fd.Message() != nil {
				empty = m.NewField(fd)
			}
			m.Set(fd, generateValue(t, empty, fd, depth))
		}
	}
}

// holdsMessages reports whether the values of fd are messages of the API.
func holdsMessages(fd protoreflect.FieldDescriptor) bool {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Message() != nil && fd.Message().ParentFile().Package() != "google.protobuf"
}

func jsonFormat(fd protoreflect.FieldDescriptor) bool {
	format := restjson.Options(fd).GetFormat()
	return format == orchv1.Format_FORMAT_JSON || format == orchv1.Format_FORMAT_JSON_OBJECT
}

func jsonText(t *rapid.T) protoreflect.Value {
	text := rapid.SampledFrom([]string{`{}`, `{"$a":{"b.c":1e400}}`, `{"x": 1}`, `{"\u0000":[1.0]}`}).Draw(t, "json")
	return protoreflect.ValueOfBytes([]byte(text))
}

func generateValue(
	t *rapid.T, empty protoreflect.Value, fd protoreflect.FieldDescriptor, depth int,
) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64().Draw(t, "double"))
	case protoreflect.StringKind:
		if restjson.Options(fd).GetFormat() == orchv1.Format_FORMAT_UUID {
			return protoreflect.ValueOfString(formatUUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
		}
		return protoreflect.ValueOfString(rapid.String().Draw(t, "string"))
	case protoreflect.BytesKind:
		if !jsonFormat(fd) {
			return protoreflect.ValueOfBytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		}
		return jsonText(t)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		first := 0
		if values.Len() > 1 {
			first = 1
		}
		return protoreflect.ValueOfEnum(values.Get(rapid.IntRange(first, values.Len()-1).Draw(t, "enum")).Number())
	case protoreflect.MessageKind:
		m := empty.Message()
		c := codec{}
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			c.kind = restjson.KindTimestamp
			us := rapid.Int64Range(minTimestamp*microsPerSec, maxTimestamp*microsPerSec).Draw(t, "us")
			must(c.setMicros(m, us))
		case "google.protobuf.Duration":
			c.kind = restjson.KindDuration
			must(c.setMicros(m, rapid.Int64Range(-maxDuration*microsPerSec, maxDuration*microsPerSec).Draw(t, "us")))
		default:
			generateInto(t, m, depth-1)
		}
		return empty
	}
	panic(fmt.Sprintf("no values of kind %v", fd.Kind()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// contractMessages are all messages of the contract, in the order of their names.
func contractMessages(tb testing.TB) []protoreflect.MessageType {
	tb.Helper()
	var all []protoreflect.MessageType
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if mt.Descriptor().ParentFile().Package() == "orch.v1" && !mt.Descriptor().IsMapEntry() {
			all = append(all, mt)
		}
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.MessageType) int {
		return strings.Compare(string(a.Descriptor().FullName()), string(b.Descriptor().FullName()))
	})
	if len(all) == 0 {
		tb.Fatal("no message of orch.v1 is registered")
	}
	return all
}
