package restjson

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// AppendReflect is Append without generated encoders: the reference that tests compare them with.
func AppendReflect(dst []byte, m proto.Message) ([]byte, error) {
	r := m.ProtoReflect()
	out, err := encoder{reflective: true}.message(dst, r, planOf(r.Descriptor()))
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", r.Descriptor().FullName(), err)
	}
	return out, nil
}

// UnmarshalReflect is Unmarshal without generated decoders: the reference that tests compare them with.
func UnmarshalReflect(data []byte, m proto.Message) error {
	r := m.ProtoReflect()
	return unmarshal(data, r, planOf(r.Descriptor()), nil)
}

// Fast reports whether a generated decoder reads all of data by itself.
func Fast(data []byte, m proto.Message) bool {
	return planOf(m.ProtoReflect().Descriptor()).decodeBody(data, m)
}
