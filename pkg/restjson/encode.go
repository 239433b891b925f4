package restjson

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontoken"
)

var (
	// ErrUnset is wrapped when a field that is never null has no value: a bug in the server.
	ErrUnset = errors.New("restjson: a required value is unset")
	// ErrInvalid is wrapped when a field holds a value outside its type: a bug in the server.
	ErrInvalid = errors.New("restjson: invalid value")
	// errNesting stops encoding a message that is nested deeper than any request can be, or that contains itself in a field
	// that is never null.
	errNesting = fmt.Errorf("%w: nested too deeply", ErrInvalid)
)

// maxEncodeDepth exceeds the depth that the decoder accepts, because inline wrappers and unions nest without brackets.
const maxEncodeDepth = 3 * maxDepth

// Omission encodes messages without these fields. Clients that refuse unknown keys need it.
type Omission []protoreflect.FullName

// Marshal returns m as REST JSON. Its errors are bugs in the server: ErrUnset, ErrInvalid or ErrUnsupported. It copies free
// JSON fields as they are; the code that sets them must ensure valid JSON (see [Compact]).
func Marshal(m proto.Message) ([]byte, error) {
	return Append(nil, m)
}

// Append appends m as REST JSON to dst. After an error it returns dst unchanged.
func Append(dst []byte, m proto.Message) ([]byte, error) { return Omission(nil).Append(dst, m) }

// Append is the package's Append without the omitted fields.
func (o Omission) Append(dst []byte, m proto.Message) ([]byte, error) {
	r := m.ProtoReflect()
	out, err := o.encoder().message(dst, r, planOf(r.Descriptor()))
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", r.Descriptor().FullName(), err)
	}
	return out, nil
}

// AppendField appends the value of one field to dst, for an rpc whose response_body names it. An unset optional field is null.
// After an error it returns dst unchanged.
func AppendField(dst []byte, m protoreflect.Message, fd protoreflect.FieldDescriptor) ([]byte, error) {
	return Omission(nil).AppendField(dst, m, fd)
}

// AppendField is the package's AppendField without the omitted fields.
func (o Omission) AppendField(dst []byte, m protoreflect.Message, fd protoreflect.FieldDescriptor) ([]byte, error) {
	p := planOf(m.Descriptor())
	f := p.byNumber[fd.Number()]
	if f == nil {
		return dst, fmt.Errorf("encode %s: %w", fd.FullName(), ErrUnsupported)
	}
	out, err := o.encoder().field(dst, m, f)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", fd.FullName(), err)
	}
	return out, nil
}

// encoder is the state of encoding: the depth, the omitted fields, and whether to use generated encoders, which omit none.
type encoder struct {
	depth      int
	omit       Omission
	reflective bool
}

func (o Omission) encoder() encoder { return encoder{omit: o, reflective: len(o) > 0} }

// Reaches reports whether a message, or one inside it, has an omitted field.
func (o Omission) Reaches(md protoreflect.MessageDescriptor) bool {
	return len(o) > 0 && o.reaches(md, map[protoreflect.FullName]bool{})
}

func (o Omission) reaches(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if slices.Contains(o, fd.FullName()) || fd.Message() != nil && o.reaches(fd.Message(), seen) {
			return true
		}
	}
	return false
}

func (e encoder) message(dst []byte, m protoreflect.Message, p *plan) ([]byte, error) {
	if p.generated != nil && !e.reflective {
		if out, ok, err := p.generated(e, dst, m.Interface()); ok {
			return out, err
		}
	}
	if p.err != nil {
		return dst, p.err
	}
	if e.depth++; e.depth > maxEncodeDepth {
		return dst, errNesting
	}
	switch p.shape {
	case shapeInline:
		return e.field(dst, m, p.fields[0])
	case shapeTuple:
		return e.tuple(dst, m, p)
	case shapeTagged, shapeTyped:
		fd := m.WhichOneof(p.oneof)
		if fd == nil {
			return dst, ErrUnset
		}
		f := p.byNumber[fd.Number()]
		if f.opts.GetInternal() {
			return dst, fmt.Errorf("%w: the variant %s is internal", ErrInvalid, f.name)
		}
		return e.field(dst, m, f)
	case shapeEmpty:
		return append(dst, "null"...), nil
	case shapeRaw:
		return append(dst, m.Get(p.desc.Fields().ByName("data")).Bytes()...), nil
	}
	return e.object(dst, m, p)
}

func (e encoder) object(dst []byte, m protoreflect.Message, p *plan) (_ []byte, err error) {
	dst = append(dst, '{')
	first := true
	if len(p.tagJSON) > 0 {
		dst = append(dst, p.tagJSON...)
		first = false
	}
	for _, f := range p.fields {
		if len(e.omit) > 0 && slices.Contains(e.omit, f.desc.FullName()) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.key...)
		if dst, err = e.field(dst, m, f); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if p.extra != nil {
		extras := m.Get(p.extra.desc).Map()
		for _, k := range sortedKeys(extras) {
			if p.byKey[k] != nil || k == p.tagKey {
				continue // a named key is written by its field
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = jsontoken.AppendString(dst, k)
			dst = append(dst, ':')
			dst = appendJSON(dst, extras.Get(protoreflect.ValueOfString(k).MapKey()).Bytes(), p.extra.kind)
		}
	}
	return append(dst, '}'), nil
}

func (e encoder) tuple(dst []byte, m protoreflect.Message, p *plan) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, f := range p.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = e.field(dst, m, f); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(dst, ']'), nil
}

func (e encoder) field(dst []byte, m protoreflect.Message, f *field) (_ []byte, err error) {
	switch {
	case f.list:
		list := m.Get(f.desc).List()
		dst = append(dst, '[')
		for i := range list.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = e.value(dst, list.Get(i), f); err != nil {
				return dst, fmt.Errorf("%d: %w", i, err)
			}
		}
		return append(dst, ']'), nil
	case f.isMap:
		return e.entries(dst, m.Get(f.desc).Map(), f)
	case f.optional && !m.Has(f.desc):
		return append(dst, "null"...), nil
	case (f.kind == KindTimestamp || f.kind == KindDuration) && !m.Has(f.desc):
		return dst, ErrUnset
	}
	return e.value(dst, m.Get(f.desc), f)
}

func (e encoder) entries(dst []byte, entries protoreflect.Map, f *field) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, k := range sortedKeys(entries) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontoken.AppendString(dst, k)
		dst = append(dst, ':')
		if dst, err = e.value(dst, entries.Get(protoreflect.ValueOfString(k).MapKey()), f); err != nil {
			return dst, fmt.Errorf("%s: %w", k, err)
		}
	}
	return append(dst, '}'), nil
}

// sortedKeys returns the keys of a map in a stable order.
func sortedKeys(entries protoreflect.Map) []string {
	if entries.Len() == 0 {
		return nil
	}
	keys := make([]string, 0, entries.Len())
	entries.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k.String())
		return true
	})
	slices.Sort(keys)
	return keys
}

func (e encoder) value(dst []byte, v protoreflect.Value, f *field) ([]byte, error) {
	switch f.kind {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case KindInt32, KindInt64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case KindUint32, KindUint64:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case KindFloat:
		return appendFloat(dst, v.Float(), 32), nil
	case KindDouble:
		return AppendFloat(dst, v.Float()), nil
	case KindString:
		return jsontoken.AppendString(dst, v.String()), nil
	case KindUUID:
		return appendUUID(dst, v.String())
	case KindJSON, KindObject:
		return appendJSON(dst, v.Bytes(), f.kind), nil
	case KindEnum:
		name, ok := f.words.quoted[v.Enum()]
		if !ok {
			return dst, enumError(v.Enum())
		}
		return append(dst, name...), nil
	case KindTimestamp:
		seconds, nanos := secondsAndNanos(v.Message())
		return appendTimestamp(dst, seconds, nanos)
	case KindDuration:
		seconds, nanos := secondsAndNanos(v.Message())
		return appendDuration(dst, seconds, nanos)
	}
	return e.message(dst, v.Message(), f.sub)
}

// secondsAndNanos reads a Timestamp or a Duration, which have the same fields.
func secondsAndNanos(m protoreflect.Message) (int64, int32) {
	switch t := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return t.GetSeconds(), t.GetNanos()
	case *durationpb.Duration:
		return t.GetSeconds(), t.GetNanos()
	}
	fds := m.Descriptor().Fields()
	return m.Get(fds.ByNumber(1)).Int(), int32(m.Get(fds.ByNumber(2)).Int())
}
