package restjson

import (
	"bytes"
	"slices"
	"strings"
)

// chooseTagged returns the variant that the discriminator of the next object names (rule 8a), or records an error.
func (d *decoder) chooseTagged(p *plan) *field {
	if d.Peek() != '{' {
		d.mismatch("model_attributes_type", notAnObject)
		return nil
	}
	var keys []string
	var chosen *field
	var given string
	var raw []byte
	found := false
	ahead := d.Lexer
	ahead.Members(func(key []byte) {
		if found {
			ahead.Skip()
			return
		}
		if string(key) != p.discriminator {
			keys = append(keys, string(key))
			ahead.Skip()
			return
		}
		found = true
		at := ahead.Pos
		if ahead.Peek() == '"' {
			given = string(ahead.Text())
			chosen = p.variants[given]
		} else {
			given = string(ahead.Raw())
		}
		if !ahead.Stopped() {
			raw = ahead.Data[at:ahead.Pos]
		}
	})
	switch {
	case ahead.Stopped():
		d.Skip() // reports the same syntax error
	case chosen != nil:
		return chosen
	case found:
		d.Skip()
		if d.checkSurrogates() {
			d.addError("union_tag_invalid", "Input tag '"+cut(given, maxStep)+"' found using '"+p.discriminator+
				"' does not match any of the expected tags: "+p.tags(), raw,
				contextMember{"discriminator", "'" + p.discriminator + "'"}, contextMember{"tag", cut(given, maxStep)}, contextMember{"expected_tags", p.tags()})
		}
	default:
		if f := p.untagged(keys); f != nil {
			return f
		}
		d.mismatch("union_tag_not_found", "Unable to extract tag using discriminator '"+p.discriminator+"'", contextMember{"discriminator", "'" + p.discriminator + "'"})
	}
	return nil
}

// untagged returns the variant that has all required keys and knows most of the keys; the first one wins a tie.
func (p *plan) untagged(keys []string) (best *field) {
	most := -1
	has := make(map[string]bool, len(keys))
	for _, k := range keys {
		has[k] = true
	}
	for _, v := range p.fields {
		fields := 0
		for k := range has {
			if v.sub.byKey[k] != nil {
				fields++
			}
		}
		for _, f := range v.sub.fields {
			if f.opts.GetRequired() && !has[f.name] {
				fields = -1
				break
			}
		}
		if fields > most {
			most, best = fields, v
		}
	}
	return best
}

func (p *plan) tags() string {
	var list []string
	for _, v := range p.fields {
		list = append(list, "'"+v.sub.tag+"'")
	}
	return strings.Join(list, ", ")
}

// chooseTyped returns the variant of the next value by a key or by its JSON type (rules 8b and 8c), or records the errors of
// every variant.
func (d *decoder) chooseTyped(p *plan) *field {
	var chosen *field
	switch c := d.Peek(); c {
	case '{':
		chosen = d.chooseObject(p)
	case '[':
		chosen = p.first(func(f *field) bool { return f.list || f.tuple() || f.single() && f.kind == KindJSON })
	case '"':
		chosen = d.chooseText(p)
	case 't', 'f':
		chosen = p.first(func(f *field) bool { return f.single() && (f.kind == KindBool || f.kind == KindJSON) })
	case 'n':
		chosen = p.first(func(f *field) bool { return f.single() && f.kind == KindJSON })
	default:
		chosen = d.chooseNumber(p)
	}
	if chosen == nil {
		d.noVariant(p)
	}
	return chosen
}

// first returns the first variant that matches, after unwrapping inline messages.
func (p *plan) first(will func(*field) bool) *field {
	for _, f := range p.fields {
		if will(f.inner()) {
			return f
		}
	}
	return nil
}

func (f *field) tuple() bool {
	return f.single() && f.kind == KindMessage && f.sub.shape == shapeTuple
}

// chooseObject prefers a variant whose key is present to one without a key.
func (d *decoder) chooseObject(p *plan) *field {
	if slices.ContainsFunc(p.fields, func(f *field) bool { return f.opts.GetKey() != "" }) {
		var chosen *field
		ahead := d.Lexer
		ahead.Members(func(key []byte) {
			for _, f := range p.fields {
				if k := f.opts.GetKey(); k != "" && k == string(key) && (chosen == nil || f.index < chosen.index) {
					chosen = f
				}
			}
			ahead.Skip()
		})
		if ahead.Stopped() {
			return p.fields[0] // whose reader reports the same syntax error
		}
		if chosen != nil {
			return chosen
		}
	}
	for _, f := range p.fields {
		in := f.inner()
		if f.opts.GetKey() == "" && (in.isMap || in.single() && (in.kind == KindObject || in.kind == KindJSON || in.kind == KindMessage && !in.tuple())) {
			return f
		}
	}
	return nil
}

// chooseText prefers a variant that reads the text as a type narrower than a string.
func (d *decoder) chooseText(p *plan) *field {
	ahead := d.Lexer
	s := string(ahead.Text())
	if f := p.first(func(f *field) bool { return f.single() && f.reads(s) }); f != nil {
		return f
	}
	if f := p.first(func(f *field) bool { return f.single() && (f.kind == KindString || f.kind == KindJSON) }); f != nil {
		return f
	}
	// No variant matches. The first one that accepts text reports why.
	return p.first(func(f *field) bool {
		return f.single() && (f.kind == KindEnum || f.kind == KindUUID || f.kind == KindTimestamp || f.kind == KindDuration)
	})
}

// reads reports whether s is valid for a kind that is written as text and is narrower than a string.
func (f *field) reads(s string) bool {
	reason := "another kind"
	switch f.kind {
	case KindEnum:
		_, ok := f.words.number[s]
		return ok
	case KindUUID:
		_, reason = ParseUUID(s)
	case KindTimestamp:
		_, _, reason = ParseTimestamp(s)
	case KindDuration:
		_, reason = ParseDuration(s)
	}
	return reason == ""
}

// chooseNumber prefers an integer variant for a number without a decimal point and exponent.
func (d *decoder) chooseNumber(p *plan) *field {
	ahead := d.Lexer
	whole := !bytes.ContainsAny(ahead.Number(), ".eE")
	integer := p.first(func(f *field) bool { return f.single() && f.kind >= KindInt32 && f.kind <= KindUint64 })
	if integer != nil && whole {
		return integer
	}
	other := p.first(func(f *field) bool {
		return f.single() && (f.kind == KindDouble || f.kind == KindFloat || f.kind == KindDuration || f.kind == KindJSON)
	})
	if other == nil {
		return integer
	}
	return other
}

// noVariant records, for a value that matches no variant, what each variant lacks.
func (d *decoder) noVariant(p *plan) {
	c := d.Peek()
	raw := d.Raw()
	if !d.checkSurrogates() || d.Stopped() {
		return
	}
	if len(p.fields) == 0 {
		d.addError("union", "Input matches no variant", raw)
	}
	reported := map[string]bool{}
	for _, f := range p.fields {
		if k := f.opts.GetKey(); k != "" && c == '{' {
			d.pushKey(k)
			d.addError("missing", "Field required", raw)
			d.pop()
			continue
		}
		typ, msg := f.inner().expected()
		if !reported[typ+msg] {
			reported[typ+msg] = true
			d.addError(typ, msg, raw)
		}
	}
}

// expected returns the error for a value of the wrong JSON type.
func (f *field) expected() (typ, msg string) {
	switch {
	case f.list && f.opts.GetUnique():
		return "set_type", "Input should be a valid set"
	case f.list:
		return "list_type", "Input should be a valid list"
	case f.isMap || f.kind == KindObject:
		return "dict_type", "Input should be a valid dictionary"
	case f.tuple():
		return "tuple_type", "Input should be a valid tuple"
	}
	switch f.kind {
	case KindBool:
		return "bool_type", "Input should be a valid boolean"
	case KindInt32, KindInt64, KindUint32, KindUint64:
		return "int_type", "Input should be a valid integer"
	case KindFloat, KindDouble:
		return "float_type", "Input should be a valid number"
	case KindString:
		return "string_type", "Input should be a valid string"
	case KindUUID:
		return "uuid_type", "UUID input should be a string, bytes or UUID object"
	case KindEnum:
		return "enum", f.words.expect
	case KindTimestamp:
		return "datetime_type", "Input should be a valid datetime"
	case KindDuration:
		return "time_delta_type", "Input should be a valid timedelta"
	}
	return "model_attributes_type", notAnObject
}
