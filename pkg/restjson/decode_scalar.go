package restjson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// scalar reads one value other than a message of the API. It records an error and returns false for bad input.
func (d *decoder) scalar(f *field) (protoreflect.Value, bool) {
	c := d.Peek()
	number := c == '-' || c >= '0' && c <= '9'
	switch f.kind {
	case KindJSON:
		return d.freeJSON(f)
	case KindObject:
		if c == '{' {
			return d.freeJSON(f)
		}
		d.mismatch("dict_type", "Input should be a valid dictionary")
	case KindBool:
		switch c {
		case 't':
			d.Literal("true")
			return protoreflect.ValueOfBool(true), !d.Stopped()
		case 'f':
			d.Literal("false")
			return protoreflect.ValueOfBool(false), !d.Stopped()
		}
		d.mismatch("bool_type", "Input should be a valid boolean")
	case KindInt32, KindInt64, KindUint32, KindUint64:
		if number {
			return d.integer(f, d.Number())
		}
		d.mismatch("int_type", "Input should be a valid integer")
	case KindFloat, KindDouble:
		if number {
			return d.float(f, d.Number())
		}
		d.mismatch("float_type", "Input should be a valid number")
	case KindString:
		if s, raw, ok := d.characters("string_type", "Input should be a valid string"); ok {
			return d.string(f, s, raw)
		}
	case KindUUID:
		if s, raw, ok := d.characters("uuid_type", "UUID input should be a string, bytes or UUID object"); ok {
			return d.uuid(s, raw)
		}
	case KindEnum:
		if s, raw, ok := d.characters("enum", f.words.expect, f.words.context()); ok {
			return d.enum(f, s, raw)
		}
	case KindTimestamp:
		if s, raw, ok := d.characters("datetime_type", "Input should be a valid datetime"); ok {
			return d.timestamp(f, s, raw)
		}
	case KindDuration:
		if number {
			return d.seconds(f, d.Number())
		}
		if s, raw, ok := d.characters("time_delta_type", "Input should be a valid timedelta"); ok {
			return d.duration(f, s, raw)
		}
	}
	return protoreflect.Value{}, false
}

func (d *decoder) freeJSON(f *field) (protoreflect.Value, bool) {
	start := d.Pos
	raw := compact(&d.Lexer)
	if d.Stopped() || !d.checkSurrogates() {
		return protoreflect.Value{}, false
	}
	if most := int(f.opts.GetMaxBytes()); most > 0 && len(raw) > most {
		return d.bad("value_error", fmt.Sprintf("Value error, the JSON must have at most %s, not %d", plural(most, "byte"), len(raw)), d.Data[start:d.Pos])
	}
	return protoreflect.ValueOfBytes(raw), true
}

// characters takes a string, or records the given error for another type.
func (d *decoder) characters(typ, msg string, context ...contextMember) (s string, raw []byte, ok bool) {
	if d.Peek() != '"' {
		d.mismatch(typ, msg, context...)
		return "", nil, false
	}
	start := d.Pos
	b := d.Text()
	if d.Stopped() || !d.checkSurrogates() {
		return "", nil, false
	}
	return string(b), d.Data[start:d.Pos], true
}

// bad records an error of a value that was taken.
func (d *decoder) bad(typ, msg string, raw []byte, context ...contextMember) (protoreflect.Value, bool) {
	d.addError(typ, msg, raw, context...)
	return protoreflect.Value{}, false
}

func (d *decoder) integer(f *field, lexeme []byte) (protoreflect.Value, bool) {
	if d.Stopped() {
		return protoreflect.Value{}, false
	}
	n, whole := parseInteger(lexeme)
	if !whole {
		return d.bad("int_from_float", "Input should be a valid integer, got a number with a fractional part", lexeme)
	}
	if f.kind == KindUint64 {
		switch {
		case n.negative && (n.magnitude > 0 || n.overflow):
			return d.bad("greater_than_equal", "Input should be greater than or equal to 0", lexeme, contextMember{"ge", 0})
		case n.overflow:
			return d.bad("less_than_equal", "Input should be less than or equal to "+strconv.FormatUint(math.MaxUint64, 10), lexeme,
				contextMember{"le", uint64(math.MaxUint64)})
		}
		return protoreflect.ValueOfUint64(n.magnitude), d.bounds(f, float64(n.magnitude), lexeme)
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch f.kind {
	case KindInt32:
		low, high = math.MinInt32, math.MaxInt32
	case KindUint32:
		low, high = 0, math.MaxUint32
	}
	v, below, above := n.int64()
	if !below && !above && !d.bounds(f, float64(v), lexeme) {
		return protoreflect.Value{}, false
	}
	switch {
	case below || v < low:
		return d.bad("greater_than_equal", "Input should be greater than or equal to "+strconv.FormatInt(low, 10), lexeme, contextMember{"ge", low})
	case above || v > high:
		return d.bad("less_than_equal", "Input should be less than or equal to "+strconv.FormatInt(high, 10), lexeme, contextMember{"le", high})
	}
	switch f.kind {
	case KindInt32:
		return protoreflect.ValueOfInt32(int32(v)), true
	case KindUint32:
		return protoreflect.ValueOfUint32(uint32(v)), true
	}
	return protoreflect.ValueOfInt64(v), true
}

func (d *decoder) float(f *field, lexeme []byte) (protoreflect.Value, bool) {
	if d.Stopped() {
		return protoreflect.Value{}, false
	}
	bits := 64
	if f.kind == KindFloat {
		bits = 32
	}
	x, err := strconv.ParseFloat(string(lexeme), bits)
	if err != nil {
		return d.bad("finite_number", "Input should be a finite number", lexeme)
	}
	if !d.bounds(f, x, lexeme) {
		return protoreflect.Value{}, false
	}
	if f.kind == KindFloat {
		return protoreflect.ValueOfFloat32(float32(x)), true
	}
	return protoreflect.ValueOfFloat64(x), true
}

// bounds checks a number, or the seconds of a duration.
func (d *decoder) bounds(f *field, x float64, raw []byte) bool {
	text := func(bound float64) string {
		if f.kind == KindDuration {
			return durationText(bound)
		}
		return strconv.FormatFloat(bound, 'f', -1, 64)
	}
	if f.opts.Min != nil {
		switch least := f.opts.GetMin(); {
		case f.opts.GetExclusiveMin() && x <= least:
			d.addError("greater_than", "Input should be greater than "+text(least), raw, f.limit("gt", least))
			return false
		case x < least:
			d.addError("greater_than_equal", "Input should be greater than or equal to "+text(least), raw, f.limit("ge", least))
			return false
		}
	}
	if f.opts.Max != nil && x > f.opts.GetMax() {
		d.addError("less_than_equal", "Input should be less than or equal to "+text(f.opts.GetMax()), raw, f.limit("le", f.opts.GetMax()))
		return false
	}
	return true
}

func (d *decoder) string(f *field, s string, raw []byte) (protoreflect.Value, bool) {
	least, most := int(f.opts.GetMinLength()), int(f.opts.GetMaxLength())
	if least > 0 || most > 0 {
		n := utf8.RuneCountInString(s)
		if n < least {
			return d.bad("string_too_short", "String should have at least "+plural(least, "character"), raw, contextMember{"min_length", least})
		}
		if most > 0 && n > most && f.single() && f.opts.GetMaxItems() > 0 {
			return d.bad("too_long", tooLong("Value", most, n), raw,
				contextMember{"field_type", "Value"}, contextMember{"max_length", most}, contextMember{"actual_length", n})
		}
		if most > 0 && n > most {
			return d.bad("string_too_long", "String should have at most "+plural(most, "character"), raw, contextMember{"max_length", most})
		}
	}
	if f.pattern != nil && !f.pattern.MatchString(s) {
		return d.bad("string_pattern_mismatch", "String should match pattern '"+f.opts.GetPattern()+"'", raw, contextMember{"pattern", f.opts.GetPattern()})
	}
	return protoreflect.ValueOfString(s), true
}

func (d *decoder) uuid(s string, raw []byte) (protoreflect.Value, bool) {
	canonical, reason := ParseUUID(s)
	if reason != "" {
		return d.bad("uuid_parsing", "Input should be a valid UUID, "+reason, raw, contextMember{"error", reason})
	}
	return protoreflect.ValueOfString(canonical), true
}

func (d *decoder) enum(f *field, s string, raw []byte) (protoreflect.Value, bool) {
	n, ok := f.words.number[s]
	if !ok {
		return d.bad("enum", f.words.expect, raw, f.words.context())
	}
	return protoreflect.ValueOfEnum(n), true
}

func (d *decoder) timestamp(f *field, s string, raw []byte) (protoreflect.Value, bool) {
	seconds, nanos, reason := ParseTimestamp(s)
	if reason != "" {
		return d.bad("datetime_parsing", "Input should be a valid datetime, "+reason, raw, contextMember{"error", reason})
	}
	return newTime(f, seconds, nanos), true
}

func (d *decoder) seconds(f *field, lexeme []byte) (protoreflect.Value, bool) {
	if d.Stopped() {
		return protoreflect.Value{}, false
	}
	x, err := strconv.ParseFloat(string(lexeme), 64)
	micros, ok := secondsToMicros(x)
	if err != nil || !ok {
		return d.bad("time_delta_parsing", "Input should be a valid timedelta, duration is too long", lexeme, contextMember{"error", "duration is too long"})
	}
	return d.micros(f, micros, lexeme)
}

func (d *decoder) duration(f *field, s string, raw []byte) (protoreflect.Value, bool) {
	micros, reason := ParseDuration(s)
	if reason != "" {
		return d.bad("time_delta_parsing", "Input should be a valid timedelta, "+reason, raw, contextMember{"error", reason})
	}
	return d.micros(f, micros, raw)
}

func (d *decoder) micros(f *field, micros int64, raw []byte) (protoreflect.Value, bool) {
	if !d.bounds(f, float64(micros)/microsPerSecond, raw) {
		return protoreflect.Value{}, false
	}
	return newTime(f, micros/microsPerSecond, int32(micros%microsPerSecond)*1000), true
}

// newTime returns an empty Timestamp or Duration for a field, list or map.
func newTime(f *field, seconds int64, nanos int32) protoreflect.Value {
	if f.kind == KindTimestamp {
		return protoreflect.ValueOfMessage((&timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}).ProtoReflect())
	}
	return protoreflect.ValueOfMessage((&durationpb.Duration{Seconds: seconds, Nanos: nanos}).ProtoReflect())
}
