package restjson

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// nulls is the meaning of null for a field that is not optional (rule 4).
type nulls bool

const (
	nullIsAbsent nulls = false
	nullIsError  nulls = true
)

const notAnObject = "Input should be a valid dictionary or object to extract fields from"

// message reads a value into m. top marks the message that is the body itself.
func (d *decoder) message(m protoreflect.Message, p *plan, top bool) {
	if p.err != nil {
		d.err = p.err
		d.Skip()
		return
	}
	if !(top && d.masked) && d.decodeFast(m, p) {
		return
	}
	// Inline wrappers and unions have no brackets, so the depth of the JSON does not bound a message that contains itself.
	if d.nested++; d.nested > maxEncodeDepth {
		d.err = errNesting
		d.Skip()
		return
	}
	defer func() { d.nested-- }()
	switch p.shape {
	case shapeInline:
		d.field(m, p.fields[0], nullIsError)
	case shapeTuple:
		d.tuple(m, p)
	case shapeTagged:
		if f := d.chooseTagged(p); f != nil {
			d.message(m.Mutable(f.desc).Message(), f.sub, top)
		}
	case shapeTyped:
		if f := d.chooseTyped(p); f != nil {
			d.field(m, f, nullIsError)
		}
	case shapeEmpty:
		d.empty()
	case shapeRaw:
		m.Set(p.desc.Fields().ByName("data"), protoreflect.ValueOfBytes(compact(&d.Lexer)))
	default:
		d.object(m, p, top)
	}
}

// empty reads the body of google.protobuf.Empty.
func (d *decoder) empty() {
	switch c := d.Peek(); c {
	case 'n', '{':
		d.Skip()
	default:
		d.mismatch("model_attributes_type", notAnObject)
	}
}

// keySet is the set of the fields of one object that were present.
type keySet [maxFields / 64]uint64

func (s *keySet) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s *keySet) add(i int)      { s[i>>6] |= 1 << (i & 63) }

func (d *decoder) object(m protoreflect.Message, p *plan, top bool) {
	if d.Peek() != '{' {
		d.mismatch("model_attributes_type", notAnObject)
		return
	}
	masked := top && d.masked
	start := d.Pos
	var seen keySet
	tagged := false
	d.Members(func(key []byte) {
		f := p.byKey[string(key)]
		switch {
		case d.LoneSurrogate:
			d.pushKey(string(key))
			d.checkSurrogates()
			d.skipFree()
		case f != nil:
			d.pushKey(f.name)
			if seen.has(f.index) {
				d.addError("duplicate_key", "Duplicate key", nil)
			} else if masked {
				d.present = append(d.present, f.desc.Name())
			}
			seen.add(f.index)
			d.field(m, f, nulls(masked || f.opts.GetRequired()))
		case p.tagKey != "" && string(key) == p.tagKey:
			d.pushKey(p.tagKey)
			if tagged {
				d.addError("duplicate_key", "Duplicate key", nil)
			}
			tagged = true
			d.tag(p)
		case p.extra != nil:
			d.pushKey(string(key))
			d.extra(m.Mutable(p.extra.desc).Map(), p.extra, string(key))
		case p.strict:
			d.pushKey(string(key))
			d.mismatch("extra_forbidden", "Extra inputs are not permitted")
		default:
			d.pushKey(string(key))
			d.skipFree()
		}
		d.pop()
	})
	if d.Stopped() {
		return
	}
	for _, f := range p.fields {
		switch {
		case seen.has(f.index):
		case masked:
			if f.opts.GetImplied() {
				d.present = append(d.present, f.desc.Name())
			}
		case f.opts.GetRequired():
			d.pushKey(f.name)
			d.addError("missing", "Field required", d.Data[start:d.Pos])
			d.pop()
		default:
			d.setDefault(m, f)
		}
	}
}

// skipFree takes a value of an unknown key, with the checks of free JSON.
func (d *decoder) skipFree() {
	d.Skip()
	d.checkSurrogates()
}

// tag reads the constant of a variant.
func (d *decoder) tag(p *plan) {
	start := d.Pos
	if d.Peek() == '"' {
		if string(d.Text()) == p.tag && !d.LoneSurrogate {
			return
		}
	} else {
		d.Skip()
	}
	if d.checkSurrogates() {
		d.addError("literal_error", "Input should be '"+p.tag+"'", d.since(start), contextMember{"expected", "'" + p.tag + "'"})
	}
}

// since returns the text taken from start on, or nil after a syntax error.
func (d *decoder) since(start int) []byte {
	if d.Stopped() {
		return nil
	}
	return d.Data[start:d.Pos]
}

// extra reads the value of a key that the message does not name.
func (d *decoder) extra(entries protoreflect.Map, f *field, key string) {
	mk := protoreflect.ValueOfString(key).MapKey()
	if entries.Has(mk) {
		d.addError("duplicate_key", "Duplicate key", nil)
	}
	if v, ok := d.scalar(f); ok {
		entries.Set(mk, v)
	}
}

func (d *decoder) tuple(m protoreflect.Message, p *plan) {
	if d.Peek() != '[' {
		d.mismatch("tuple_type", "Input should be a valid tuple")
		return
	}
	start, n := d.Pos, 0
	d.Items(func(i int) {
		n++
		if i >= len(p.fields) {
			d.skipFree()
			return
		}
		d.pushIndex(i)
		d.field(m, p.fields[i], nullIsError)
		d.pop()
	})
	if d.Stopped() {
		return
	}
	if n > len(p.fields) {
		d.addError("too_long", tooLong("Tuple", len(p.fields), n), d.Data[start:d.Pos],
			contextMember{"field_type", "Tuple"}, contextMember{"max_length", len(p.fields)}, contextMember{"actual_length", n})
	}
	for i := n; i < len(p.fields); i++ {
		d.pushIndex(i)
		d.addError("missing", "Field required", d.Data[start:d.Pos])
		d.pop()
	}
}
