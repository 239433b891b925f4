package jinja

import "strings"

// dictValue is a dict in insertion order.
type dictValue struct {
	keys []Value
	vals []Value
	// strs has the positions of str keys, or is nil if the dict is small enough for a linear search.
	strs map[string]int
	// others has the positions of other keys, or is nil if there are none.
	others map[hashKey]int
	// fold makes lookups of str keys ignore case. The keys are stored in lower case.
	fold bool
	// text replaces the printed form of a host's mapping. It is nil for an ordinary dict.
	text func() string
	// mixed is set when a key is not a str.
	mixed bool
}

func (d *dictValue) typeName() string {
	if d.fold {
		return "Headers"
	}
	return "dict"
}

// smallDict is the number of keys up to which a search is as fast as a map.
const smallDict = 8

func newDict(n int) *dictValue {
	both := make([]Value, 2*n)
	return &dictValue{keys: both[:0:n], vals: both[n:n]}
}

// Pair is an entry of a dict.
type Pair struct{ Key, Value Value }

// Dict returns a dict of pairs in their order. The last of duplicate keys wins. Unhashable keys are skipped.
func Dict(pairs ...Pair) Value {
	d := newDict(len(pairs))
	for _, p := range pairs {
		_ = d.set(p.Key, p.Value)
	}
	return d
}

// CaseInsensitiveDict returns a read-only mapping of str to str. Its names are in lower case when iterated, and a lookup
// ignores case. The last of duplicate names wins.
func CaseInsensitiveDict(pairs [][2]string) Value {
	d := newDict(len(pairs))
	d.fold = true
	for _, p := range pairs {
		d.setStr(strings.ToLower(p[0]), strValue(p[1]))
	}
	return d
}

// PrintAsJSON returns a dict with d's entries that prints as JSON. So a filter can return an object to the template and JSON to
// its output. A value that is not a dict is returned as it is.
func PrintAsJSON(v Value) Value {
	d, ok := v.(*dictValue)
	if !ok {
		return v
	}
	c := *d
	c.text = func() string {
		b, err := ToJSON(d)
		if err != nil {
			return ""
		}
		return string(b)
	}
	return &c
}

// findStr returns the index of the str key s, or -1.
func (d *dictValue) findStr(s string) int {
	if d.fold {
		s = strings.ToLower(s)
	}
	if d.strs != nil {
		if i, ok := d.strs[s]; ok {
			return i
		}
		return -1
	}
	for i, k := range d.keys {
		switch k := k.(type) {
		case strValue:
			if string(k) == s {
				return i
			}
		case markupValue:
			if string(k) == s {
				return i
			}
		}
	}
	return -1
}

func (d *dictValue) getStr(s string) (Value, bool) {
	if i := d.findStr(s); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

// find returns the index of key, or -1 if it is absent, or a TypeError for an unhashable key.
func (d *dictValue) find(key Value) (int, error) {
	if s, ok := asText(key); ok {
		return d.findStr(s), nil
	}
	h, err := hash(key)
	if err != nil {
		return -1, err
	}
	if i, ok := d.others[h]; ok {
		return i, nil
	}
	return -1, nil
}

func (d *dictValue) get(key Value) (Value, bool, error) {
	i, err := d.find(key)
	if err != nil || i < 0 {
		return nil, false, err
	}
	return d.vals[i], true, nil
}

// lookup is get with its cost: a lookup reads the whole key.
func (rt *state) lookup(d *dictValue, key Value) (Value, bool, error) {
	if err := rt.payKey(key); err != nil {
		return nil, false, err
	}
	return d.get(key)
}

// payKey charges for reading a key.
func (rt *state) payKey(key Value) error {
	if s, ok := asText(key); ok && len(s) >= 256 {
		return rt.work(len(s) / 256)
	}
	return nil
}

// set adds an entry or replaces the value of an equal key. Only dicts under construction change.
func (d *dictValue) set(key, val Value) error {
	if s, ok := asText(key); ok {
		if i := d.findStr(s); i >= 0 {
			d.vals[i] = val
			return nil
		}
		d.appendStr(s, key, val)
		return nil
	}
	h, err := hash(key)
	if err != nil {
		return err
	}
	if i, ok := d.others[h]; ok {
		d.vals[i] = val
		return nil
	}
	if d.others == nil {
		d.others = make(map[hashKey]int)
	}
	d.mixed = true
	d.others[h] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, val)
	return nil
}

func (d *dictValue) setStr(s string, val Value) {
	if i := d.findStr(s); i >= 0 {
		d.vals[i] = val
		return
	}
	d.appendStr(s, strValue(s), val)
}

func (d *dictValue) appendStr(s string, key, val Value) {
	if d.strs != nil {
		d.strs[s] = len(d.keys)
	} else if len(d.keys) >= smallDict {
		d.strs = make(map[string]int, 2*len(d.keys))
		for i, k := range d.keys {
			if t, ok := asText(k); ok {
				d.strs[t] = i
			}
		}
		d.strs[s] = len(d.keys)
	}
	d.keys, d.vals = append(d.keys, key), append(d.vals, val)
}

func (d *dictValue) copy() *dictValue {
	c := newDict(len(d.keys))
	for i, k := range d.keys {
		_ = c.set(k, d.vals[i])
	}
	c.fold = d.fold
	return c
}

// update sets all entries of other.
func (d *dictValue) update(other *dictValue) {
	for i, k := range other.keys {
		_ = d.set(k, other.vals[i])
	}
}

// Items returns the entries of a dict in order.
func Items(v Value) ([]Pair, bool) {
	d, ok := v.(*dictValue)
	if !ok {
		return nil, false
	}
	out := make([]Pair, len(d.keys))
	for i, k := range d.keys {
		out[i] = Pair{k, d.vals[i]}
	}
	return out, true
}

// Get returns the entry of a dict under a str key.
func Get(v Value, key string) (Value, bool) {
	d, ok := v.(*dictValue)
	if !ok {
		return nil, false
	}
	return d.getStr(key)
}

// Elements returns the items of a list or tuple. The caller must not change the slice.
func Elements(v Value) ([]Value, bool) {
	switch v := v.(type) {
	case *listValue:
		return v.items, true
	case *tupleValue:
		return v.items, true
	}
	return nil, false
}

// IsDict reports whether v is a dict.
func IsDict(v Value) bool { _, ok := v.(*dictValue); return ok }

// IsNone reports whether v is None.
func IsNone(v Value) bool { _, ok := v.(noneValue); return ok }

// viewKind is the kind of a dict's view.
type viewKind uint8

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

// dictView is what keys(), values() and items() return.
type dictView struct {
	d    *dictValue
	kind viewKind
}

func (v *dictView) typeName() string {
	return [...]string{"dict_keys", "dict_values", "dict_items"}[v.kind]
}

func (v *dictView) at(i int) Value {
	switch v.kind {
	case viewKeys:
		return v.d.keys[i]
	case viewValues:
		return v.d.vals[i]
	}
	return &tupleValue{items: []Value{v.d.keys[i], v.d.vals[i]}}
}
