package restjson

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// fastDecoder is the state of a generated decoder. Generated decoders read well-formed input straight into Go fields. They
// return false for everything else: a syntax or field error, a null for a field that is never null, an escape in a key, a UUID
// in another notation. The reflective decoder then reads the value again and reports what is wrong, if anything.
//
// A decoder reuses the memory of the message. Strings share one copy of the body.
type fastDecoder struct {
	jsontoken.Lexer
	text string // Data as a string; results are slices of it.
}

// decodeFast reads the next value with the generated decoder of m. It returns false, with m empty, if there is none or if it
// rejected the value.
func (d *decoder) decodeFast(m protoreflect.Message, p *plan) bool {
	if p.fast == nil || d.reflective || d.Stopped() || len(d.Data) == 0 {
		return false
	}
	if len(d.copied) != len(d.Data) || &d.copied[0] != &d.Data[0] {
		d.copied, d.body = d.Data, string(d.Data)
	}
	d.Space()
	r := fastDecoder{Lexer: d.Lexer, text: d.body}
	message := m.Interface()
	if !p.fast(&r, message) {
		proto.Reset(message)
		return false
	}
	d.Pos = r.Pos
	return true
}

// decodeBody reads a complete body with the generated decoder of m, as decodeFast does.
func (p *plan) decodeBody(data []byte, m proto.Message) bool {
	if p.fast == nil {
		return false
	}
	r := fastDecoder{Lexer: lexer(data), text: string(data)}
	r.Space()
	if p.fast(&r, m) {
		if r.Space(); r.Pos == len(data) {
			return true
		}
	}
	proto.Reset(m)
	return false
}

// fastDecoderFunc reads a message. It returns false if it rejected the input, or if the message has another Go type.
type fastDecoderFunc func(r *fastDecoder, m proto.Message) bool

// fast adapts the decoder of one Go type.
func fast[T proto.Message](decode func(*fastDecoder, T) bool) fastDecoderFunc {
	return func(r *fastDecoder, m proto.Message) bool {
		t, ok := m.(T)
		return ok && decode(r, t)
	}
}

// take skips white space and takes the byte c.
func (r *fastDecoder) take(c byte) bool {
	if r.Peek() != c {
		return false
	}
	r.Pos++
	return true
}

// enter opens an object or array.
func (r *fastDecoder) enter(open byte) bool {
	if r.Peek() != open {
		return false
	}
	r.Open()
	return !r.Stopped()
}

// key takes the key of the next member and moves to its value.
func (r *fastDecoder) key(first bool) (key string, more, ok bool) {
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
func (r *fastDecoder) plain() (string, bool) {
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

func (r *fastDecoder) string(to *string) (ok bool) {
	if *to, ok = r.plain(); ok {
		return true
	}
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != '"' {
		return false
	}
	*to = string(r.Text())
	return r.valid()
}

func (r *fastDecoder) uuid(to *string) (ok bool) {
	*to, ok = r.plain()
	return ok && isCanonicalUUID(*to)
}

func (r *fastDecoder) timestamp(to **timestamppb.Timestamp) bool {
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

// integer takes a number of at most 18 digits without a fraction or exponent.
func (r *fastDecoder) integer(to *int64) bool {
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
			return false // A decimal point, or the plus of an exponent.
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
func (r *fastDecoder) object(to *[]byte) bool {
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
	return r.valid()
}

// skip takes the value of an unknown key.
func (r *fastDecoder) skip() bool {
	r.Skip()
	return r.valid()
}

// valid reports whether the text taken has no syntax error and no lone surrogate.
func (r *fastDecoder) valid() bool { return !r.Stopped() && !r.LoneSurrogate }

// null takes a null if it is next.
func (r *fastDecoder) null() bool {
	if r.Pos >= len(r.Data) || r.Data[r.Pos] != 'n' {
		return false
	}
	r.Literal("null")
	return !r.Stopped()
}

// optional takes a value or null.
func optional[T any](r *fastDecoder, to **T, read func(*fastDecoder, *T) bool) bool {
	if r.null() {
		*to = nil
		return true
	}
	if *to == nil {
		*to = new(T)
	}
	return read(r, *to)
}

// message reads an object into a message.
func message[T any](r *fastDecoder, to **T, read func(*fastDecoder, *T) bool) bool {
	if *to == nil {
		*to = new(T)
	}
	return read(r, *to)
}

// texts reads an object whose values are strings.
func (r *fastDecoder) texts(to *map[string]string) bool {
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
			return len(*to) == n // A duplicate key makes them differ.
		}
		var value string
		if !r.string(&value) {
			return false
		}
		(*to)[key] = value
	}
}

// list reads an array of messages.
func list[T any](r *fastDecoder, to *[]*T, read func(*fastDecoder, *T) bool) bool {
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
