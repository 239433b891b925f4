package restjson

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
)

// generatedEncoderFunc appends a message. It returns false if the message has another Go type than the encoder expects, such as
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

// at adds the field or key where an encoder failed.
func at(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// atIndex adds the item of a list where an encoder failed.
func atIndex(i int, err error) error { return fmt.Errorf("%d: %w", i, err) }

// keysOf returns the keys of a map in a stable order.
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
