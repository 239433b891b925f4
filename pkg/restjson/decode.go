package restjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxDepth is the maximum nesting depth of arrays and objects in a body.
const maxDepth = 128

func lexer(data []byte) jsontoken.Lexer { return jsontoken.Lexer{Data: data, MaxDepth: maxDepth} }

// DecodeOption changes how a body is read.
type DecodeOption func(*decodeOptions)

type decodeOptions struct {
	optionalBody bool
}

// WithOptionalBody lets an empty body, and the body null, count as {} or as the field's default ((api).optional_body).
func WithOptionalBody() DecodeOption {
	return func(o *decodeOptions) { o.optionalBody = true }
}

// Unmarshal reads REST JSON into m, which should be empty. Bad input returns *Errors and leaves m unusable.
func Unmarshal(data []byte, m proto.Message, opts ...DecodeOption) error {
	r := m.ProtoReflect()
	p := planOf(r.Descriptor())
	if p.decodeBody(data, m) {
		return nil
	}
	return unmarshal(data, r, p, opts)
}

// Replace is like Unmarshal, but m may hold another message. A generated decoder reuses the memory of that message, so the
// caller must not refer to its parts afterwards.
func Replace(data []byte, m proto.Message) error {
	r := m.ProtoReflect()
	p := planOf(r.Descriptor())
	if p.decodeBody(data, m) {
		return nil
	}
	proto.Reset(m)
	return unmarshal(data, r, p, nil)
}

// unmarshal reads a body by reflection.
func unmarshal(data []byte, r protoreflect.Message, p *plan, opts []DecodeOption) error {
	if p.err != nil {
		return fmt.Errorf("decode %s: %w", r.Descriptor().FullName(), p.err)
	}
	d := newDecoder(data)
	d.reflective = p.fast != nil // The fast path rejected the body.
	if blank(d.Data) {
		if !gather(opts).optionalBody {
			d.addError("missing", "Field required", nil)
			return d.result(r.Descriptor())
		}
		d.Data = []byte("{}")
	}
	d.message(r, p, true)
	d.End()
	return d.result(r.Descriptor())
}

// UnmarshalField reads a body into the field of a request message that the body of google.api.http names. If the request has a
// google.protobuf.FieldMask update_mask, it receives the proto names of the top-level keys present; the top level then has no
// defaults and no required keys. Bad input returns *Errors and leaves m unusable.
func UnmarshalField(data []byte, m protoreflect.Message, fd protoreflect.FieldDescriptor, opts ...DecodeOption) error {
	p := planOf(m.Descriptor())
	f := p.byNumber[fd.Number()]
	if f == nil {
		return fmt.Errorf("decode %s: %w", fd.FullName(), ErrUnsupported)
	}
	if f.single() && f.kind == KindMessage {
		switch {
		case f.sub.err != nil:
			return fmt.Errorf("decode %s: %w", fd.FullName(), f.sub.err)
		case f.sub.shape == shapeRaw:
			body := m.Mutable(fd).Message()
			body.Set(f.sub.desc.Fields().ByName("data"), protoreflect.ValueOfBytes(bytes.Clone(data)))
			return nil
		}
	}
	d := newDecoder(data)
	masked := p.mask != nil && f.single() && f.kind == KindMessage && (f.sub.shape == shapeObject || f.sub.shape == shapeTagged)
	d.masked = masked
	switch {
	case blank(data) || isNull(data) && !f.optional && !f.takesNull():
		if err := d.absentBody(m, f, gather(opts).optionalBody); err != nil {
			return err
		}
	case isNull(data) && f.optional:
		m.Clear(fd)
		return nil
	case f.single() && f.kind == KindMessage:
		d.message(m.Mutable(fd).Message(), f.sub, true)
	default:
		d.field(m, f, nullIsError)
	}
	d.End()
	if err := d.result(fd); err != nil {
		return err
	}
	if masked {
		setMask(m, p.mask, d.present)
	}
	return nil
}

// bodyPrefix begins the published names of bodies whose keys are parameters of their own: an absent body lacks each required one.
const bodyPrefix = "Body_"

// absentBody handles a body that is empty, or null where null is not a value.
func (d *decoder) absentBody(m protoreflect.Message, f *field, optional bool) error {
	data := d.Data
	d.Data = nil
	switch {
	case f.optional:
		m.Clear(f.desc)
	case f.opts.GetDefault() != "" && !d.masked:
		return ApplyDefault(m, f.desc)
	case !optional && f.single() && f.kind == KindMessage && strings.HasPrefix(Shape(f.sub.desc).GetSchema(), bodyPrefix):
		d.Data = []byte("{}")
		d.message(m.Mutable(f.desc).Message(), f.sub, true)
		for _, missing := range d.fieldErrors {
			missing.Input = []byte("null")
		}
	case !optional:
		d.addError("missing", "Field required", []byte("null"))
	case f.single() && f.kind == KindMessage:
		d.Data = []byte("{}")
		d.message(m.Mutable(f.desc).Message(), f.sub, true)
	case f.single():
		d.Data = data
		d.field(m, f, nullIsError)
	}
	return nil
}

func setMask(m protoreflect.Message, mask protoreflect.FieldDescriptor, names []protoreflect.Name) {
	mm := m.Mutable(mask).Message()
	paths := mm.Mutable(mm.Descriptor().Fields().ByName("paths")).List()
	paths.Truncate(0)
	for _, n := range names {
		paths.Append(protoreflect.ValueOfString(string(n)))
	}
}

func gather(opts []DecodeOption) (o decodeOptions) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func blank(data []byte) bool { return len(bytes.TrimLeft(data, " \t\r\n")) == 0 }

func isNull(data []byte) bool { return string(bytes.Trim(data, " \t\r\n")) == "null" }

// decoder reads one body.
type decoder struct {
	jsontoken.Lexer
	path        []step
	fieldErrors []*orchv1.FieldError
	masked      bool                // collect the top-level keys; no defaults and no required keys there
	present     []protoreflect.Name // proto names of the top-level keys present
	nested      int                 // depth of messages being read
	err         error               // a bug in the server

	body       string // a copy of copied; generated decoders slice their strings from it
	copied     []byte // Data at the time of the copy
	reflective bool   // do not use generated decoders
}

func newDecoder(data []byte) *decoder {
	return (&decoder{Lexer: lexer(data), path: make([]step, 1, 8)}).rooted("body")
}

func (d *decoder) rooted(in string) *decoder {
	d.path[0] = step{key: in, index: -1}
	return d
}

// result returns the field errors as one error. A syntax error is the last of them; its location is a byte offset of the body.
func (d *decoder) result(what protoreflect.Descriptor) error {
	if d.err != nil {
		return fmt.Errorf("decode %s: %w", what.FullName(), d.err)
	}
	if d.Reason != "" {
		d.path = append(d.path[:1], step{index: d.At})
		invalid := d.newError("json_invalid", "JSON decode error: "+d.Reason)
		invalid.Ctx = contextObject([]contextMember{{"error", d.Reason}})
		d.fieldErrors = append(d.fieldErrors, invalid)
	}
	if len(d.fieldErrors) == 0 {
		return nil
	}
	return &Errors{List: d.fieldErrors}
}

func (d *decoder) pushKey(key string) { d.path = append(d.path, step{key: key, index: -1}) }
func (d *decoder) pushIndex(i int)    { d.path = append(d.path, step{index: i}) }
func (d *decoder) pop()               { d.path = d.path[:len(d.path)-1] }

func (d *decoder) newError(typ, msg string) *orchv1.FieldError {
	fe := &orchv1.FieldError{Type: typ, Msg: msg, Loc: make([]*orchv1.PathElement, len(d.path))}
	for i, s := range d.path {
		fe.Loc[i] = s.element()
	}
	return fe
}

// addError records an error of the value at the current path. raw is the value as sent; nil leaves it out of the error.
// The context is the violated rule.
func (d *decoder) addError(typ, msg string, raw []byte, context ...contextMember) {
	if d.Stopped() {
		return // Behind a syntax error, every further error is a guess.
	}
	fe := d.newError(typ, msg)
	fe.Ctx = contextObject(context)
	if len(raw) <= maxEcho && len(raw) > 0 {
		fe.Input = jsontoken.DropSpace(raw)
	}
	d.fieldErrors = append(d.fieldErrors, fe)
	if len(d.fieldErrors) >= MaxErrors {
		d.Stop()
	}
}

// mismatch takes a value of the wrong JSON type.
func (d *decoder) mismatch(typ, msg string, context ...contextMember) {
	raw := d.Raw()
	if d.checkSurrogates() {
		d.addError(typ, msg, raw, context...)
	}
}

// checkSurrogates reports whether the text just taken has no lone surrogate, and records an error otherwise.
func (d *decoder) checkSurrogates() bool {
	if !d.LoneSurrogate {
		return true
	}
	d.LoneSurrogate = false
	d.addError("string_unicode", "Input should be a valid string, unable to parse raw data as a unicode string", nil)
	return false
}

// AsErrors returns the *Errors that err wraps, or nil.
func AsErrors(err error) *Errors {
	if e, ok := errors.AsType[*Errors](err); ok {
		return e
	}
	return nil
}
