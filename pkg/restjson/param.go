package restjson

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// SetParam reads the text of a path, query or header parameter into a field of a request message. A list, also inside an inline
// wrapper, takes all values; any other field takes the last one. Bad input returns *Errors whose loc starts with in: "path",
// "query" or "header".
func SetParam(m protoreflect.Message, fd protoreflect.FieldDescriptor, values []string, in string) error {
	if len(values) == 0 {
		return nil
	}
	f := planOf(m.Descriptor()).byNumber[fd.Number()]
	if f == nil || f.isMap {
		return fmt.Errorf("decode parameter %s: %w", fd.FullName(), ErrUnsupported)
	}
	d := newDecoder(nil).rooted(in)
	d.pushKey(f.name)
	// An optional list is an inline wrapper around it.
	for f.single() && f.kind == KindMessage && f.sub.shape == shapeInline {
		m = m.Mutable(f.desc).Message()
		f = f.sub.fields[0]
	}
	switch {
	case f.list:
		d.paramList(m, f, values)
	case f.kind == KindMessage:
		// A union reads the text as it would read a string; a parameter has no other notation.
		d.Data = jsontoken.AppendString(nil, strings.ToValidUTF8(values[len(values)-1], "\uFFFD"))
		d.message(m.Mutable(f.desc).Message(), f.sub, false)
	default:
		if v, ok := d.param(f, values[len(values)-1]); ok {
			m.Set(f.desc, v)
		}
	}
	return d.result(fd)
}

func (d *decoder) paramList(m protoreflect.Message, f *field, values []string) {
	list := m.Mutable(f.desc).List()
	list.Truncate(0)
	seen := map[any]bool{}
	for i, text := range values {
		d.pushIndex(i)
		v, ok := d.param(f, text)
		d.pop()
		if !ok || f.opts.GetUnique() && f.comparable() && seen[v.Interface()] {
			continue
		}
		if f.comparable() {
			seen[v.Interface()] = true
		}
		list.Append(v)
	}
	if len(d.fieldErrors) == 0 {
		d.count(f, "List", list.Len(), 0)
	}
}

// param reads one text. Numbers and booleans have no quotes here; an error shows the text as it was sent.
func (d *decoder) param(f *field, text string) (protoreflect.Value, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	raw := jsontoken.AppendString(nil, text)
	first := len(d.fieldErrors)
	v, ok := d.paramValue(f, text, raw)
	for _, e := range d.fieldErrors[first:] {
		if e.GetInput() != nil {
			e.Input = raw
		}
	}
	return v, ok
}

func (d *decoder) paramValue(f *field, text string, raw []byte) (protoreflect.Value, bool) {
	d.Data, d.Pos = raw, 0
	switch f.kind {
	case KindBool:
		switch strings.ToLower(text) {
		case "true", "1", "t", "yes", "y", "on":
			return protoreflect.ValueOfBool(true), true
		case "false", "0", "f", "no", "n", "off":
			return protoreflect.ValueOfBool(false), true
		}
		return d.bad("bool_parsing", "Input should be a valid boolean, unable to interpret input", raw)
	case KindInt32, KindInt64, KindUint32, KindUint64:
		lexeme, ok := numberText(text)
		if !ok {
			return d.bad("int_parsing", "Input should be a valid integer, unable to parse string as an integer", raw)
		}
		return d.integer(f, lexeme)
	case KindFloat, KindDouble:
		lexeme, ok := numberText(text)
		if !ok {
			return d.bad("float_parsing", "Input should be a valid number, unable to parse string as a number", raw)
		}
		return d.float(f, lexeme)
	case KindDuration:
		if lexeme, ok := numberText(text); ok {
			return d.seconds(f, lexeme)
		}
	case KindJSON, KindObject:
		d.Data = []byte(text)
		v, ok := d.scalar(f)
		d.End()
		if d.Stopped() {
			d.Lexer = lexer(nil)
			return d.bad("json_invalid", "Input should be valid JSON", raw)
		}
		return v, ok
	case KindTimestamp:
		// A plus sign that the client did not escape arrives as a space.
		if n := len(text); n > 6 && text[n-6] == ' ' && text[n-3] == ':' && strings.Count(text, ":") > 1 {
			d.Data = jsontoken.AppendString(nil, text[:n-6]+"+"+text[n-5:])
		}
	}
	return d.scalar(f)
}

// numberText returns the literal of a text that is a JSON number, with optional spaces around it and an optional plus sign.
func numberText(text string) ([]byte, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	l := lexer([]byte(text))
	lexeme := l.Number()
	l.End()
	return lexeme, !l.Stopped()
}

// ApplyDefault sets a field of a request message to its (rest).default, if it has one. It is for an absent parameter or body.
func ApplyDefault(m protoreflect.Message, fd protoreflect.FieldDescriptor) error {
	f := planOf(m.Descriptor()).byNumber[fd.Number()]
	if f == nil {
		return fmt.Errorf("default of %s: %w", fd.FullName(), ErrUnsupported)
	}
	d := newDecoder(nil)
	d.setDefault(m, f)
	return d.result(fd)
}

// Missing returns the field error of a required parameter that is absent; in is "path", "query" or "header".
func Missing(fd protoreflect.FieldDescriptor, in string) *orchv1.FieldError {
	d := newDecoder(nil).rooted(in)
	d.pushKey(Name(fd))
	fe := d.newError("missing", "Field required")
	fe.Input = []byte("null")
	return fe
}
