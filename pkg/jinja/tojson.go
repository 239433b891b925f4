package jinja

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonEncoder writes JSON as Python's json.dumps does.
type jsonEncoder struct {
	rt        *state // nil without a budget
	b         []byte
	item, key string // separators
	indent    string
	pretty    bool
	sorted    bool
	// plain writes non-ASCII characters as they are instead of escaping them.
	plain bool
	paid  int
}

// pay charges for the text written since the last call.
func (e *jsonEncoder) pay() error {
	if e.rt == nil {
		return nil
	}
	n := len(e.b) - e.paid
	e.paid = len(e.b)
	if err := e.rt.step(); err != nil {
		return err
	}
	return e.rt.charge(2 * n)
}

func (e *jsonEncoder) value(v Value, depth int) error {
	if depth > maxValueDepth {
		return budgetErr("a value is nested deeper than %d levels", maxValueDepth)
	}
	if err := e.pay(); err != nil {
		return err
	}
	switch v := v.(type) {
	case strValue:
		e.text(string(v))
	case markupValue:
		e.text(string(v))
	case noneValue:
		e.b = append(e.b, "null"...)
	case boolValue:
		e.b = strconv.AppendBool(e.b, bool(v))
	case intValue:
		e.b = strconv.AppendInt(e.b, int64(v), 10)
	case bigValue:
		if e.rt != nil {
			s, err := e.rt.bigText(v)
			if err != nil {
				return err
			}
			e.b = append(e.b, s...)
		} else {
			e.b = v.n.Append(e.b, 10)
		}
	case floatValue:
		e.b = append(e.b, jsonFloat(float64(v))...)
	case *listValue:
		return e.items(v.items, depth)
	case *tupleValue:
		return e.items(v.items, depth)
	case *dictValue:
		return e.dict(v, depth)
	default:
		return typeErr("Object of type %s is not JSON serializable", v.typeName())
	}
	return nil
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return reprFloat(f)
}

func (e *jsonEncoder) newline(depth int) error {
	if !e.pretty {
		return nil
	}
	if e.rt != nil {
		if err := e.rt.chargeTimes(depth, len(e.indent)); err != nil {
			return err
		}
	}
	e.b = append(e.b, '\n')
	for range depth {
		e.b = append(e.b, e.indent...)
	}
	return nil
}

func (e *jsonEncoder) items(items []Value, depth int) error {
	if len(items) == 0 {
		e.b = append(e.b, "[]"...)
		return nil
	}
	e.b = append(e.b, '[')
	for i, it := range items {
		if i > 0 {
			e.b = append(e.b, e.item...)
		}
		if err := e.newline(depth + 1); err != nil {
			return err
		}
		if err := e.value(it, depth+1); err != nil {
			return err
		}
	}
	if err := e.newline(depth); err != nil {
		return err
	}
	e.b = append(e.b, ']')
	return nil
}

func (e *jsonEncoder) dict(d *dictValue, depth int) error {
	if len(d.keys) == 0 {
		e.b = append(e.b, "{}"...)
		return nil
	}
	order, err := e.order(d)
	if err != nil {
		return err
	}
	e.b = append(e.b, '{')
	for n := range d.keys {
		i := n
		if order != nil {
			i = order[n]
		}
		if n > 0 {
			e.b = append(e.b, e.item...)
		}
		if err := e.newline(depth + 1); err != nil {
			return err
		}
		if err := e.dictKey(d.keys[i]); err != nil {
			return err
		}
		e.b = append(e.b, e.key...)
		if err := e.value(d.vals[i], depth+1); err != nil {
			return err
		}
	}
	if err := e.newline(depth); err != nil {
		return err
	}
	e.b = append(e.b, '}')
	return nil
}

// order returns the indices of the entries sorted by key, or nil for the present order.
func (e *jsonEncoder) order(d *dictValue) ([]int, error) {
	if !e.sorted || len(d.keys) < 2 {
		return nil, nil
	}
	if !d.mixed {
		ascending := true
		for i := 1; i < len(d.keys) && ascending; i++ {
			a, _ := asText(d.keys[i-1])
			b, _ := asText(d.keys[i])
			ascending = a < b
		}
		if ascending {
			return nil, nil
		}
	}
	if e.rt != nil {
		if err := e.rt.chargeTimes(len(d.keys), 24); err != nil {
			return nil, err
		}
	}
	order := make([]int, len(d.keys))
	for i := range order {
		order[i] = i
	}
	if !d.mixed {
		slices.SortFunc(order, func(a, b int) int {
			x, _ := asText(d.keys[a])
			y, _ := asText(d.keys[b])
			return strings.Compare(x, y)
		})
		return order, nil
	}
	if e.rt == nil {
		return nil, nil
	}
	return order, e.rt.sortIndices(order, d.keys, false, false)
}

func (e *jsonEncoder) dictKey(k Value) error {
	switch k := k.(type) {
	case strValue:
		e.text(string(k))
	case markupValue:
		e.text(string(k))
	case noneValue, boolValue, intValue, bigValue, floatValue:
		e.b = append(e.b, '"')
		if err := e.value(k, 0); err != nil {
			return err
		}
		e.b = append(e.b, '"')
	default:
		return typeErr("keys must be str, int, float, bool or None, not %s", k.typeName())
	}
	return nil
}

// del is the control character DEL, which json.dumps escapes and RFC 8259 does not.
const del = 0x7f

// yieldEvery is the number of bytes of a long text after which other goroutines run, as slowStep lets them.
const yieldEvery = 32 << 10

// appendUnicode appends the escape of a character of the basic plane, or of a surrogate.
func appendUnicode(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

func (e *jsonEncoder) text(s string) {
	b := append(e.b, '"')
	start, yielded := 0, 0
	for i := 0; i < len(s); {
		if i-yielded > yieldEvery {
			yielded = i
			runtime.Gosched()
		}
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < del {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !e.plain {
				b = append(b, s[start:i]...)
				if r >= 0x10000 {
					r -= 0x10000
					b = appendUnicode(b, 0xd800+r>>10)
					r = 0xdc00 + r&0x3ff
				}
				b = appendUnicode(b, r)
				start = i + n
			}
			i += n
			continue
		}
		if c == del && e.plain {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch k := strings.IndexByte("\b\f\n\r\t\"\\", c); {
		case k >= 0:
			b = append(b, '\\', `bfnrt"\`[k])
		default:
			b = appendUnicode(b, rune(c))
		}
		i++
		start = i
	}
	e.b = append(append(b, s[start:]...), '"')
}

// containsOne is strings.ContainsAny for few ASCII characters and long texts: it takes a fraction of its time.
func containsOne(s, characters string) bool {
	for i := range len(characters) {
		if strings.IndexByte(s, characters[i]) >= 0 {
			return true
		}
	}
	return false
}

var htmlSafeJSON = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`)

// filterToJSON is Jinja's tojson: sorted keys, safe inside HTML.
func filterToJSON(rt *state, a []Value) (Value, error) {
	e := jsonEncoder{rt: rt, item: ", ", key: ": ", sorted: true, b: rt.scratch[:0]}
	if _, text := asText(a[0]); given(a[1]) && !text {
		if u, ok := a[1].(*undefinedValue); ok {
			return nil, u.fail()
		}
		e.pretty, e.item = true, ","
		switch n := a[1].(type) {
		case strValue, markupValue:
			e.indent, _ = asText(n)
		default:
			k, err := intArg(a[1], 0)
			if err != nil {
				return nil, typeErr("can't multiply sequence by non-int of type '%s'", a[1].typeName())
			}
			if err := rt.charge(max(k, 0)); err != nil {
				return nil, err
			}
			e.indent = strings.Repeat(" ", max(k, 0))
		}
	}
	if err := e.value(a[0], 0); err != nil {
		return nil, err
	}
	if err := e.pay(); err != nil {
		return nil, err
	}
	s := string(e.b)
	if cap(e.b) <= maxRecycled {
		rt.scratch = e.b
	}
	if containsOne(s, "<>&'") {
		s = htmlSafeJSON.Replace(s)
		if err := rt.charge(len(s)); err != nil {
			return nil, err
		}
	}
	return markupValue(s), nil
}
