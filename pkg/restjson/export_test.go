package restjson

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// AppendReflect is Append without generated encoders: the definition that those are tested against.
func AppendReflect(dst []byte, m proto.Message) ([]byte, error) {
	r := m.ProtoReflect()
	out, err := encoder{reflective: true}.message(dst, r, planOf(r.Descriptor()))
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", r.Descriptor().FullName(), err)
	}
	return out, nil
}
