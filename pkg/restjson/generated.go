package restjson

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
)

// generatedEncoderFunc writes a message; false when the message has another Go type than the encoder is for, such as
// a dynamic one.
type generatedEncoderFunc func(e encoder, dst []byte, m proto.Message) ([]byte, bool, error)

// generated adapts the encoder of one Go type.
func generated[T proto.Message](encode func(encoder, []byte, T) ([]byte, error)) generatedEncoderFunc {
	return func(e encoder, dst []byte, m proto.Message) ([]byte, bool, error) {
		t, ok := m.(T)
		if !ok {
			return dst, false, nil
		}
		out, err := encode(e, dst, t)
		return out, true, err
	}
}

// at says in which field, or under which key, an encoder found a fault.
func at(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// atIndex says at which item of a list an encoder found a fault.
func atIndex(i int, err error) error { return fmt.Errorf("%d: %w", i, err) }

// keysOf makes the order of a map's keys the same each time.
func keysOf[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
