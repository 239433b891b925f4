package restjson

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// swift is what generated decoders read with. They read what clients send when nothing is wrong with it, straight into
// the fields of Go, and give up at anything else: a fault, a null where a value belongs, an escape in a key, a UUID that is
// written in another way. What they gave up, the decoder by reflection reads again and tells what is wrong, if anything is.
//
// A decoder uses the memory of what the message held before. Strings share one copy of the body.
type swift struct {
	jsontoken.Lexer
	text string // Its data.
}

// swiftly lets the generated decoder of m read the value ahead; false when there is none, or when it gave up: then m is
// empty.
func (d *decoder) swiftly(m protoreflect.Message, p *plan) bool {
	if p.swift == nil || d.reflective || d.Stopped() || len(d.Data) == 0 {
		return false
	}
	if len(d.copied) != len(d.Data) || &d.copied[0] != &d.Data[0] {
		d.copied, d.body = d.Data, string(d.Data)
	}
	d.Space()
	r := swift{Lexer: d.Lexer, text: d.body}
	message := m.Interface()
	if !p.swift(&r, message) {
		proto.Reset(message)
		return false
	}
	d.Pos = r.Pos
	return true
}

// whole lets the generated decoder of m read a whole body, as swiftly does.
func (p *plan) whole(data []byte, m proto.Message) bool {
	if p.swift == nil {
		return false
	}
	r := swift{Lexer: lexer(data), text: string(data)}
	r.Space()
	if p.swift(&r, m) {
		if r.Space(); r.Pos == len(data) {
			return true
		}
	}
	proto.Reset(m)
	return false
}

// swiftDecoderFunc reads a message; false when it gave up, or when the message has another Go type.
type swiftDecoderFunc func(r *swift, m proto.Message) bool

// swiftly adapts the decoder of one Go type.
func swiftly[T proto.Message](decode func(*swift, T) bool) swiftDecoderFunc {
	return func(r *swift, m proto.Message) bool {
		t, ok := m.(T)
		return ok && decode(r, t)
	}
}

// take takes one byte behind white space.
func (r *swift) take(c byte) bool {
	if r.Peek() != c {
		return false
	}
	r.Pos++
	return true
}

// enter goes into an object or array.
func (r *swift) enter(open byte) bool {
	if r.Peek() != open {
		return false
	}
	r.Open()
	return !r.Stopped()
}

// key takes the key of the next member and stands before its value.
func (r *swift) key(first bool) (key string, more, ok bool) {
	if !r.More('}', first) {
		return "", false, !r.Stopped()
	}
	if key, ok = r.plain(); !ok || !r.take(':') {
		return "", false, false
	}
	r.Space()
	return key, true, true
}

// plain takes a string without escapes.
func (r *swift) plain() (string, bool) {
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != '"' {
		return "", false
	}
	start := r.Pos + 1
	end, ascii := jsontoken.PlainEnd(r.Data, start)
	if end == len(r.Data) || r.Data[end] != '"' || !ascii && !utf8.Valid(r.Data[start:end]) {
		return "", false
	}
	r.Pos = end + 1
	return r.text[start:end], true
}

func (r *swift) string(to *string) (ok bool) {
	if *to, ok = r.plain(); ok {
		return true
	}
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != '"' {
		return false
	}
	*to = string(r.Text())
	return r.whole()
}

func (r *swift) uuid(to *string) (ok bool) {
	*to, ok = r.plain()
	return ok && isCanonicalUUID(*to)
}

func (r *swift) timestamp(to **timestamppb.Timestamp) bool {
	s, ok := r.plain()
	if !ok {
		return false
	}
	seconds, nanos, reason := ParseTimestamp(s)
	if *to == nil {
		*to = &timestamppb.Timestamp{}
	}
	(*to).Seconds, (*to).Nanos = seconds, nanos
	return reason == ""
}

// integer takes a number of at most 18 digits, without point and exponent.
func (r *swift) integer(to *int64) bool {
	lexeme := r.Number()
	if r.Stopped() || len(lexeme) > 18 {
		return false
	}
	n, negative := int64(0), false
	for _, c := range lexeme {
		switch {
		case c == '-':
			negative = true
		case c < '0':
			return false // A point, or the plus of an exponent.
		case c > '9':
			return false
		default:
			n = n*10 + int64(c-'0')
		}
	}
	if negative {
		n = -n
	}
	*to = n
	return true
}

// object takes a free JSON object and copies it without white space.
func (r *swift) object(to *[]byte) bool {
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != '{' {
		return false
	}
	spaces := r.Spaces
	raw := r.Raw()
	if r.Spaces > spaces {
		*to = jsontoken.DropSpace(raw)
	} else {
		*to = append((*to)[:0], raw...)
	}
	return r.whole()
}

// skip takes a value that nobody wants.
func (r *swift) skip() bool {
	r.Skip()
	return r.whole()
}

// whole tells whether what was taken has neither a fault nor half of a surrogate pair.
func (r *swift) whole() bool { return !r.Stopped() && !r.LoneSurrogate }

// null takes a null, if it is one.
func (r *swift) null() bool {
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != 'n' {
		return false
	}
	r.Literal("null")
	return !r.Stopped()
}

// optional takes a value or null.
func optional[T any](r *swift, to **T, read func(*swift, *T) bool) bool {
	if r.null() {
		*to = nil
		return true
	}
	if *to == nil {
		*to = new(T)
	}
	return read(r, *to)
}

// message takes an object into a message.
func message[T any](r *swift, to **T, read func(*swift, *T) bool) bool {
	if *to == nil {
		*to = new(T)
	}
	return read(r, *to)
}

// texts takes an object whose values are strings.
func (r *swift) texts(to *map[string]string) bool {
	if !r.enter('{') {
		return false
	}
	if *to == nil {
		*to = map[string]string{}
	}
	clear(*to)
	for n := 0; ; n++ {
		key, more, ok := r.key(n == 0)
		if !ok {
			return false
		}
		if !more {
			return len(*to) == n // Else a key came twice.
		}
		var value string
		if !r.string(&value) {
			return false
		}
		(*to)[key] = value
	}
}

// list takes an array of messages.
func list[T any](r *swift, to *[]*T, read func(*swift, *T) bool) bool {
	if !r.enter('[') {
		return false
	}
	all := (*to)[:0]
	for {
		if !r.More(']', len(all) == 0) {
			*to = all
			return !r.Stopped()
		}
		if n := len(all); n < cap(all) && all[:n+1][n] != nil {
			all = all[:n+1]
		} else {
			all = append(all, new(T))
		}
		if !read(r, all[len(all)-1]) {
			return false
		}
	}
}
