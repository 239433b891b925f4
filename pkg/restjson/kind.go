package restjson

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Kind is the form of one value of a field: of the field itself, of an item of its list or of a value of its map. Both encodings of the
// contract, JSON here and documents in protobson, decide by it.
type Kind uint8

// Each kind of a proto3 field has one; options and well-known messages distinguish further kinds of strings, bytes and messages.
const (
	KindBool Kind = iota
	KindInt32
	KindInt64
	KindUint32
	KindUint64
	KindFloat
	KindDouble
	KindString
	KindUUID
	KindJSON   // Bytes that hold any JSON.
	KindObject // Bytes that hold a JSON object.
	KindBinary // Other bytes. REST has none.
	KindEnum
	KindTimestamp // This kind and those after it are proto messages.
	KindDuration
	KindMessage
)

// KindOf returns the kind of a field's values, or of the values of a map. options belong to the field or to the map.
func KindOf(fd protoreflect.FieldDescriptor, options *orchv1.RestField) Kind {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return KindBool
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return KindInt32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return KindInt64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return KindUint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return KindUint64
	case protoreflect.FloatKind:
		return KindFloat
	case protoreflect.DoubleKind:
		return KindDouble
	case protoreflect.StringKind:
		if options.GetFormat() == orchv1.Format_FORMAT_UUID {
			return KindUUID
		}
		return KindString
	case protoreflect.BytesKind:
		return kindOfBytes(options)
	case protoreflect.EnumKind:
		return KindEnum
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			return KindTimestamp
		case "google.protobuf.Duration":
			return KindDuration
		}
		return KindMessage
	}
	panic(fmt.Sprintf("restjson: field %s has a kind unknown to proto3: %v", fd.FullName(), fd.Kind()))
}

func kindOfBytes(options *orchv1.RestField) Kind {
	switch {
	case options.GetFormat() == orchv1.Format_FORMAT_JSON_OBJECT:
		return KindObject
	// A map with (rest).extra collects the keys that a message does not name; its values are JSON.
	case options.GetFormat() == orchv1.Format_FORMAT_JSON, options.GetExtra():
		return KindJSON
	}
	return KindBinary
}
