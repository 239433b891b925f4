package restjson

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// field reads a value into a field of m.
func (d *decoder) field(m protoreflect.Message, f *field, null nulls) {
	if d.Peek() == 'n' && d.null(m, f, null) {
		return
	}
	switch {
	case f.list:
		d.list(m, f)
	case f.isMap:
		d.entries(m, f)
	case f.kind == KindMessage:
		d.message(m.Mutable(f.desc).Message(), f.sub, false)
	default:
		if v, ok := d.scalar(f); ok {
			m.Set(f.desc, v)
		}
	}
}

// null takes a null that means "no value". It returns false if null is a value of the field or an error; the reader of the
// field then handles it.
func (d *decoder) null(m protoreflect.Message, f *field, null nulls) bool {
	switch {
	case f.optional:
		d.Literal("null")
		m.Clear(f.desc)
	case f.takesNull() || null == nullIsError:
		return false
	default:
		d.Literal("null")
		if !d.Stopped() {
			d.setDefault(m, f)
		}
	}
	return true
}

func (d *decoder) list(m protoreflect.Message, f *field) {
	unique := f.opts.GetUnique()
	name, typ := "List", "list_type"
	if unique {
		name, typ = "Set", "set_type"
	}
	if d.Peek() != '[' {
		d.mismatch(typ, "Input should be a valid "+map[bool]string{false: "list", true: "set"}[unique])
		return
	}
	start := d.Pos
	list := m.Mutable(f.desc).List()
	var seen map[any]bool
	n := 0
	most := int(f.opts.GetMaxItems())
	d.Items(func(i int) {
		if most > 0 && n >= most && !unique { // Nothing is built from items that count refuses.
			n++
			d.Skip()
			return
		}
		d.pushIndex(i)
		defer d.pop()
		if f.kind == KindMessage {
			v := list.NewElement()
			d.message(v.Message(), f.sub, false)
			list.Append(v)
			n++
			return
		}
		v, ok := d.scalar(f)
		if unique && ok && f.comparable() {
			if seen == nil {
				seen = map[any]bool{}
			}
			if seen[v.Interface()] {
				return // the items are a set, which has this one already
			}
			seen[v.Interface()] = true
		}
		n++
		if ok {
			list.Append(v)
		}
	})
	d.count(f, name, n, start)
}

// comparable reports whether values of the kind can be compared as Go values.
func (f *field) comparable() bool {
	switch f.kind {
	case KindJSON, KindObject, KindTimestamp, KindDuration, KindMessage:
		return false
	}
	return true
}

func (d *decoder) entries(m protoreflect.Message, f *field) {
	if d.Peek() != '{' {
		d.mismatch("dict_type", "Input should be a valid dictionary")
		return
	}
	start := d.Pos
	entries := m.Mutable(f.desc).Map()
	n := 0
	d.Members(func(raw []byte) {
		key := string(raw)
		d.pushKey(key)
		defer d.pop()
		if !d.checkSurrogates() {
			d.skipFree()
			return
		}
		if most := int(f.opts.GetMaxKeyLength()); most > 0 && utf8.RuneCountInString(key) > most {
			d.pushKey("[key]")
			d.addError("string_too_long", "String should have at most "+plural(most, "character"), nil, contextMember{"max_length", most})
			d.pop()
		}
		mk := protoreflect.ValueOfString(key).MapKey()
		if entries.Has(mk) {
			d.addError("duplicate_key", "Duplicate key", nil)
		}
		n++
		if f.kind == KindMessage {
			v := entries.NewValue()
			d.message(v.Message(), f.sub, false)
			entries.Set(mk, v)
		} else if v, ok := d.scalar(f); ok {
			entries.Set(mk, v)
		}
	})
	d.count(f, "Dictionary", n, start)
}

// count checks the number of items.
func (d *decoder) count(f *field, name string, n, start int) {
	if d.Stopped() {
		return
	}
	if least := int(f.opts.GetMinItems()); n < least {
		d.addError("too_short", fmt.Sprintf("%s should have at least %s after validation, not %d", name, plural(least, "item"), n), d.Data[start:d.Pos],
			contextMember{"field_type", name}, contextMember{"min_length", least}, contextMember{"actual_length", n})
	}
	if most := int(f.opts.GetMaxItems()); most > 0 && n > most {
		d.addError("too_long", tooLong(name, most, n), d.Data[start:d.Pos],
			contextMember{"field_type", name}, contextMember{"max_length", most}, contextMember{"actual_length", n})
	}
}

func tooLong(name string, most, n int) string {
	return fmt.Sprintf("%s should have at most %s after validation, not %d", name, plural(most, "item"), n)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// setDefault sets an absent field to its default.
func (d *decoder) setDefault(m protoreflect.Message, f *field) {
	switch text := f.opts.GetDefault(); {
	case f.def.IsValid():
		m.Set(f.desc, f.freshDefault())
	case text != "":
		sub := newDecoder([]byte(text))
		if f.optional && isNull(sub.Data) {
			return
		}
		sub.field(m, f, nullIsError)
		sub.End()
		if err := sub.result(f.desc); err != nil {
			d.err = fmt.Errorf("%w: the default %s of %s: %w", ErrUnsupported, text, f.desc.FullName(), err)
		}
	}
}

// freshDefault returns a copy of the default, so messages do not share mutable memory.
func (f *field) freshDefault() protoreflect.Value {
	switch f.kind {
	case KindJSON, KindObject:
		return protoreflect.ValueOfBytes(append([]byte(nil), f.def.Bytes()...))
	case KindTimestamp, KindDuration:
		seconds, nanos := secondsAndNanos(f.def.Message())
		return newTime(f, seconds, nanos)
	}
	return f.def
}
