package restjson

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The reflective and the generated encoders both call these functions, so both write the same bytes.

func appendTimestamp(dst []byte, seconds int64, nanos int32) ([]byte, error) {
	out, ok := AppendTimestamp(dst, seconds, nanos)
	if !ok {
		return dst, fmt.Errorf("%w: the timestamp %d.%09d", ErrInvalid, seconds, nanos)
	}
	return out, nil
}

func appendDuration(dst []byte, seconds int64, nanos int32) ([]byte, error) {
	out, ok := AppendDuration(dst, seconds, nanos)
	if !ok {
		return dst, fmt.Errorf("%w: the duration %d.%09d", ErrInvalid, seconds, nanos)
	}
	return out, nil
}

func appendUUID(dst []byte, s string) ([]byte, error) {
	if s == "" {
		return dst, ErrUnset
	}
	canonical, reason := ParseUUID(s)
	if reason != "" {
		return dst, fmt.Errorf("%w: the UUID %q: %s", ErrInvalid, s, reason)
	}
	dst = append(dst, '"')
	dst = append(dst, canonical...)
	return append(dst, '"'), nil
}

// appendJSON appends free JSON. Absent JSON is null, or {} for a JSON object.
func appendJSON(dst, raw []byte, k Kind) []byte {
	switch {
	case len(raw) > 0:
		return append(dst, raw...)
	case k == KindObject:
		return append(dst, "{}"...)
	}
	return append(dst, "null"...)
}

func enumError(n protoreflect.EnumNumber) error {
	if n == 0 {
		return ErrUnset
	}
	return fmt.Errorf("%w: the enum value %d", ErrInvalid, n)
}
