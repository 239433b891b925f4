package protobson

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

const (
	uuidSubtype    = 4
	microsPerSec   = 1_000_000
	nanosPerMicro  = 1_000
	nanosPerSecond = 1_000_000_000
	// The span of proto's Timestamp, years 1 to 9999, and of its Duration, both in seconds.
	minTimestamp = -62_135_596_800
	maxTimestamp = 253_402_300_799
	maxDuration  = 315_576_000_000
	// The numbers of the fields in Timestamp and Duration.
	secondsNumber = 1
	nanosNumber   = 2
)

// append appends one value, without type and key.
func (c *codec) append(dst []byte, v protoreflect.Value, depth int) ([]byte, error) {
	switch c.kind {
	case restjson.KindBool:
		return bsoncore.AppendBoolean(dst, v.Bool()), nil
	case restjson.KindInt32, restjson.KindInt64:
		return bsoncore.AppendInt64(dst, v.Int()), nil
	case restjson.KindUint32, restjson.KindUint64:
		u := v.Uint()
		if u > math.MaxInt64 {
			return nil, fmt.Errorf("%w: %d does not fit in a signed 64-bit integer", ErrValue, u)
		}
		return bsoncore.AppendInt64(dst, int64(u)), nil
	case restjson.KindFloat, restjson.KindDouble:
		return bsoncore.AppendDouble(dst, v.Float()), nil
	case restjson.KindString:
		s := v.String()
		if err := checkText(s); err != nil {
			return nil, err
		}
		return bsoncore.AppendString(dst, s), nil
	case restjson.KindJSON, restjson.KindObject:
		b := v.Bytes()
		if !utf8.Valid(b) {
			return nil, fmt.Errorf("%w: not UTF-8", ErrValue)
		}
		dst = bsoncore.AppendInt32(dst, int32(len(b)+1)) // A message of 2 GiB cannot exist.
		return append(append(dst, b...), 0), nil
	case restjson.KindBinary:
		return bsoncore.AppendBinary(dst, 0, v.Bytes()), nil
	case restjson.KindUUID:
		u, ok := parseUUID(v.String())
		if !ok {
			return nil, fmt.Errorf("%w: %q is not a UUID", ErrValue, v.String())
		}
		return bsoncore.AppendBinary(dst, uuidSubtype, u[:]), nil
	case restjson.KindEnum:
		name, ok := restjson.EnumWord(c.enum, v.Enum())
		if !ok {
			return nil, fmt.Errorf("%w: %d is not a value of %s", ErrValue, v.Enum(), c.enum.Name())
		}
		return bsoncore.AppendString(dst, name), nil
	case restjson.KindTimestamp, restjson.KindDuration:
		us, err := c.micros(v.Message())
		if err != nil {
			return nil, err
		}
		return bsoncore.AppendInt64(dst, us), nil
	}
	return c.appendMessage(dst, v.Message(), depth)
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: not UTF-8", ErrValue)
	}
	return nil
}

// micros reads a Timestamp or a Duration, whose fields have the same numbers.
func (c *codec) micros(m protoreflect.Message) (int64, error) {
	fds := m.Descriptor().Fields()
	seconds := m.Get(fds.ByNumber(secondsNumber)).Int()
	nanos := m.Get(fds.ByNumber(nanosNumber)).Int()
	low, high := int64(minTimestamp), int64(maxTimestamp)
	if c.kind == restjson.KindDuration {
		low, high = -maxDuration, maxDuration
	}
	if seconds < low || seconds > high || nanos <= -nanosPerSecond || nanos >= nanosPerSecond ||
		(c.kind == restjson.KindTimestamp && nanos < 0) {
		return 0, fmt.Errorf("%w: %d seconds and %d nanoseconds are out of range", ErrValue, seconds, nanos)
	}
	return seconds*microsPerSec + nanos/nanosPerMicro, nil
}

// setMicros is the inverse of micros.
func (c *codec) setMicros(m protoreflect.Message, us int64) error {
	seconds, nanos, ok := c.split(us)
	if !ok {
		return fmt.Errorf("%w: %d microseconds are out of range", ErrType, us)
	}
	fds := m.Descriptor().Fields()
	m.Set(fds.ByNumber(secondsNumber), protoreflect.ValueOfInt64(seconds))
	m.Set(fds.ByNumber(nanosNumber), protoreflect.ValueOfInt32(nanos))
	return nil
}

// split converts microseconds to the seconds and nanoseconds of a Timestamp or a Duration. ok is false if they are out of
// range.
func (c *codec) split(us int64) (seconds int64, nanos int32, ok bool) {
	seconds, rest := us/microsPerSec, us%microsPerSec
	low, high := int64(minTimestamp), int64(maxTimestamp)
	if c.kind == restjson.KindDuration {
		low, high = -maxDuration, maxDuration
	} else if rest < 0 {
		seconds, rest = seconds-1, rest+microsPerSec // A Timestamp's nanoseconds count forward, a Duration's carry its sign.
	}
	return seconds, int32(rest * nanosPerMicro), seconds >= low && seconds <= high // Nanoseconds are below 1e9.
}

// isText reports whether a value is JSON, which is stored as a string.
func (c *codec) isText() bool { return c.kind == restjson.KindJSON || c.kind == restjson.KindObject }

// isMessage reports whether a value of the codec is a proto message. read then needs an empty one to fill.
func (c *codec) isMessage() bool { return c.kind >= restjson.KindTimestamp }

// read converts a stored value to a value of the field. empty is a fresh message if isMessage, else ignored.
func (c *codec) read(v bsoncore.Value, empty protoreflect.Value, depth int) (protoreflect.Value, error) {
	switch c.kind {
	case restjson.KindBool:
		if b, ok := v.BooleanOK(); ok {
			return protoreflect.ValueOfBool(b), nil
		}
	case restjson.KindInt32, restjson.KindInt64, restjson.KindUint32, restjson.KindUint64:
		if n, ok := integer(v); ok {
			return c.integerValue(n)
		}
	case restjson.KindFloat, restjson.KindDouble:
		// A $sum or an $inc by an integer may have stored an integer.
		d, ok := v.DoubleOK()
		if !ok {
			var n int64
			n, ok = integer(v)
			d = float64(n)
		}
		switch {
		case ok && c.kind == restjson.KindFloat:
			return protoreflect.ValueOfFloat32(float32(d)), nil
		case ok:
			return protoreflect.ValueOfFloat64(d), nil
		}
	case restjson.KindString, restjson.KindJSON, restjson.KindObject, restjson.KindEnum:
		if s, ok := v.StringValueOK(); ok {
			return c.stringValue(s)
		}
	case restjson.KindBinary:
		if _, b, ok := v.BinaryOK(); ok {
			return protoreflect.ValueOfBytes(append([]byte(nil), b...)), nil
		}
	case restjson.KindUUID:
		if subtype, b, ok := v.BinaryOK(); ok && subtype == uuidSubtype && len(b) == 16 {
			return protoreflect.ValueOfString(formatUUID(b)), nil
		}
	case restjson.KindTimestamp, restjson.KindDuration:
		if us, ok := integer(v); ok {
			return empty, c.setMicros(empty.Message(), us)
		}
	case restjson.KindMessage:
		return empty, c.readMessage(v, empty.Message(), depth)
	}
	return protoreflect.Value{}, c.mismatch(v)
}

func (c *codec) mismatch(v bsoncore.Value) error {
	if c.kind == restjson.KindUUID && v.Type == bsoncore.TypeBinary {
		return fmt.Errorf("%w: binary is not a UUID", ErrType)
	}
	return fmt.Errorf("%w: %s instead of %s", ErrType, v.Type, c.bsonType())
}

func integer(v bsoncore.Value) (int64, bool) {
	if n, ok := v.Int64OK(); ok {
		return n, true
	}
	n, ok := v.Int32OK()
	return int64(n), ok
}

func (c *codec) integerValue(n int64) (protoreflect.Value, error) {
	switch {
	case c.kind == restjson.KindInt64:
		return protoreflect.ValueOfInt64(n), nil
	case c.kind == restjson.KindInt32 && n >= math.MinInt32 && n <= math.MaxInt32:
		return protoreflect.ValueOfInt32(int32(n)), nil
	case c.kind == restjson.KindUint64 && n >= 0:
		return protoreflect.ValueOfUint64(uint64(n)), nil
	case c.kind == restjson.KindUint32 && n >= 0 && n <= math.MaxUint32:
		return protoreflect.ValueOfUint32(uint32(n)), nil
	}
	return protoreflect.Value{}, fmt.Errorf("%w: %d is out of range", ErrType, n)
}

func (c *codec) stringValue(s string) (protoreflect.Value, error) {
	if !utf8.ValidString(s) {
		return protoreflect.Value{}, fmt.Errorf("%w: not UTF-8", ErrType)
	}
	switch c.kind {
	case restjson.KindJSON, restjson.KindObject:
		return protoreflect.ValueOfBytes([]byte(s)), nil
	case restjson.KindEnum:
		n, ok := restjson.EnumNumber(c.enum, s)
		if !ok {
			return protoreflect.Value{}, fmt.Errorf("%w: %q is not a value of %s", ErrType, s, c.enum.Name())
		}
		return protoreflect.ValueOfEnum(n), nil
	}
	return protoreflect.ValueOfString(s), nil
}
