package restjson

import (
	"bytes"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontext"
)

// swift is what generated decoders read with. They read what clients send when nothing is wrong with it, straight into
// the fields of Go, and give up at anything else: a fault, a null where a value belongs, an escape in a key, a UUID that is
// written in another way. What they gave up, the decoder by reflection reads again and tells what is wrong, if anything is.
//
// A decoder uses the memory of what the message held before. Strings share one copy of the body.
type swift struct {
	data  []byte
	text  string // The same.
	pos   int
	depth int
}

// swiftly lets the generated decoder of m read the value ahead; false when there is none, or when it gave up: then m is
// empty.
func (d *decoder) swiftly(m protoreflect.Message, p *plan) bool {
	if p.swift == nil || d.reflective || d.stopped || len(d.data) == 0 {
		return false
	}
	if len(d.copied) != len(d.data) || &d.copied[0] != &d.data[0] {
		d.copied, d.body = d.data, string(d.data)
	}
	d.space()
	r := swift{data: d.data, text: d.body, pos: d.pos, depth: d.depth}
	message := m.Interface()
	if !p.swift(&r, message) {
		proto.Reset(message)
		return false
	}
	d.pos = r.pos
	return true
}

// whole lets the generated decoder of m read a whole body, as swiftly does.
func (p *plan) whole(data []byte, m proto.Message) bool {
	if p.swift == nil {
		return false
	}
	r := swift{data: data, text: string(data)}
	r.space()
	if p.swift(&r, m) {
		if r.space(); r.pos == len(data) {
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

func (r *swift) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\n', '\r', '\t':
			r.pos++
		default:
			return
		}
	}
}

// take takes one byte behind white space.
func (r *swift) take(c byte) bool {
	r.space()
	if r.pos >= len(r.data) || r.data[r.pos] != c {
		return false
	}
	r.pos++
	return true
}

// enter goes into an object or array.
func (r *swift) enter(open byte) bool {
	r.depth++
	return r.depth <= maxDepth && r.take(open)
}

// more stands before the next member or item, if there is one; else it has left the object or array.
func (r *swift) more(end byte, first bool) (more, ok bool) {
	if r.take(end) {
		r.depth--
		return false, true
	}
	if !first && !r.take(',') {
		return false, false
	}
	r.space()
	return true, true
}

// key takes the key of the next member and stands before its value.
func (r *swift) key(first bool) (key string, more, ok bool) {
	if more, ok = r.more('}', first); !more || !ok {
		return "", false, ok
	}
	if key, ok = r.plain(); !ok || !r.take(':') {
		return "", false, false
	}
	r.space()
	return key, true, true
}

// plain takes a string without escapes.
func (r *swift) plain() (string, bool) {
	if r.pos >= len(r.data) || r.data[r.pos] != '"' {
		return "", false
	}
	start := r.pos + 1
	end, ascii := jsontext.Run(r.data, start)
	if end == len(r.data) || r.data[end] != '"' || !ascii && !utf8.Valid(r.data[start:end]) {
		return "", false
	}
	r.pos = end + 1
	return r.text[start:end], true
}

func (r *swift) string(to *string) (ok bool) {
	at := r.pos
	if *to, ok = r.plain(); ok {
		return true
	}
	if at >= len(r.data) || r.data[at] != '"' {
		return false
	}
	l := lexer{data: r.data, pos: at}
	*to = string(l.text())
	r.pos = l.pos
	return !l.stopped && !l.surrogate
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
	l := lexer{data: r.data, pos: r.pos}
	lexeme := l.number()
	if l.stopped || len(lexeme) > 18 {
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
	*to, r.pos = n, l.pos
	return true
}

// object takes a free JSON object and copies it without white space.
func (r *swift) object(to *[]byte) bool {
	start := r.pos
	if start >= len(r.data) || r.data[start] != '{' {
		return false
	}
	scan, ok := r.scan()
	if !ok {
		return false
	}
	raw := r.data[start:r.pos]
	if scan.Spaces > 0 {
		*to = dropSpace(raw)
	} else {
		*to = append((*to)[:0], raw...)
	}
	return true
}

// skip takes a value that nobody wants.
func (r *swift) skip() bool {
	_, ok := r.scan()
	return ok
}

func (r *swift) scan() (jsontext.Scanner, bool) {
	s := jsontext.Scanner{Text: r.data, Depth: maxDepth - r.depth}
	end, ok := s.Value(r.pos)
	raw := r.data[r.pos:end]
	if !ok || bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`)) {
		return s, false // The last may be halves of surrogate pairs.
	}
	r.pos = end
	return s, true
}

// null takes a null, if it is one.
func (r *swift) null() bool {
	if r.pos >= len(r.data) || r.data[r.pos] != 'n' {
		return false
	}
	l := lexer{data: r.data, pos: r.pos}
	l.literal("null")
	if l.stopped {
		return false
	}
	r.pos = l.pos
	return true
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
		more, ok := r.more(']', len(all) == 0)
		if !ok {
			return false
		}
		if !more {
			*to = all
			return true
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
