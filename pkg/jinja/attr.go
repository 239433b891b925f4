package jinja

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// attrStatus is the result of looking up an attribute of a Python object.
type attrStatus uint8

const (
	attrAbsent attrStatus = iota
	attrFound
	attrUnsafe // there, but refused by the sandbox
)

// getattr is obj.name in a template: the attribute, else the item of that name, else undefined.
func (rt *state) getattr(obj Value, name string) (Value, error) {
	v, status, err := rt.attribute(obj, name)
	if err != nil {
		return nil, err
	}
	switch status {
	case attrFound:
		return v, nil
	case attrUnsafe:
		return rt.unsafeAttr(obj, name), nil
	}
	v, err = rt.subscript(obj, strValue(name))
	if err == nil {
		return v, nil
	}
	if isLookupErr(err) {
		return rt.undefinedAttr(obj, strValue(name)), nil
	}
	return nil, err
}

// getitem is obj[key] in a template: the item, else the attribute of that name, else undefined.
func (rt *state) getitem(obj, key Value) (Value, error) {
	switch o := obj.(type) {
	case *dictValue:
		if s, ok := asText(key); ok {
			if i := o.findStr(s); i >= 0 {
				return o.vals[i], nil
			}
		}
	case *listValue:
		if i, ok := key.(intValue); ok && i >= 0 && int(i) < len(o.items) {
			return o.items[i], nil
		}
	}
	v, err := rt.subscript(obj, key)
	if err == nil {
		return v, nil
	}
	if !isLookupErr(err) {
		return nil, err
	}
	if name, ok := asText(key); ok {
		v, status, err := rt.attribute(obj, name)
		if err != nil {
			return nil, err
		}
		switch status {
		case attrFound:
			return v, nil
		case attrUnsafe:
			return rt.unsafeAttr(obj, name), nil
		}
	}
	return rt.undefinedAttr(obj, key), nil
}

// attribute is Python's getattr(obj, name) under the sandbox.
func (rt *state) attribute(obj Value, name string) (Value, attrStatus, error) {
	if u, ok := obj.(*undefinedValue); ok {
		return u.attribute(name)
	}
	if ns, ok := obj.(*namespaceValue); ok && !strings.HasPrefix(name, "__") {
		if v, ok := ns.attrs.getStr(name); ok {
			if name[0] == '_' {
				return nil, attrUnsafe, nil
			}
			return v, attrFound, nil
		}
	}
	if name == "" {
		return nil, attrAbsent, nil
	}
	if name[0] == '_' {
		if hasPrivate(obj, name) {
			return nil, attrUnsafe, nil
		}
		return nil, attrAbsent, nil
	}
	v, err := rt.publicAttr(obj, name)
	switch {
	case err != nil:
		return nil, attrAbsent, err
	case v != nil:
		return v, attrFound, nil
	case typeAttrs[attrType(obj)].has(name):
		return nil, attrUnsafe, nil
	}
	return nil, attrAbsent, nil
}

// The attribute of an undefined value is the value itself if it can be chained. Otherwise it is an error, except for the names
// that its Python class has.
func (u *undefinedValue) attribute(name string) (Value, attrStatus, error) {
	dunder := strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
	if typeAttrs["object"].has(name) || typeAttrs["Undefined"].has(name) || u.mode == Chainable && name == "__html__" {
		return nil, attrUnsafe, nil
	}
	if dunder {
		return nil, attrAbsent, nil
	}
	if u.mode == Chainable {
		if strings.HasPrefix(name, "_") {
			return nil, attrUnsafe, nil
		}
		return u, attrFound, nil
	}
	return nil, attrAbsent, u.fail()
}

// publicAttr returns a safe method or property, or nil if the object has none of that name.
func (rt *state) publicAttr(obj Value, name string) (Value, error) {
	switch o := obj.(type) {
	case strValue:
		if m := rt.engine.methods.str[name]; m != nil {
			return m.bind(o, name), nil
		}
	case markupValue:
		if m := rt.engine.methods.str[name]; m != nil {
			return m.bind(o, name), nil
		}
		if m := rt.engine.methods.markup[name]; m != nil {
			return m.bind(o, name), nil
		}
	case *dictValue:
		if m := rt.engine.methods.dict[name]; m != nil {
			return m.bind(o, name), nil
		}
	case *listValue:
		if m := rt.engine.methods.list[name]; m != nil {
			return m.bind(o, name), nil
		}
	case *tupleValue:
		for i, f := range o.fields {
			if f == name {
				return o.items[i], nil
			}
		}
		if name == "index" || name == "count" {
			return rt.engine.methods.list[name].bind(o, name), nil
		}
	case intValue, boolValue, bigValue, floatValue, complexValue:
		return numberAttr(obj, name), nil
	case rangeValue:
		return rangeAttr(o, name), nil
	case bytesValue:
		if name == "decode" || name == "hex" {
			return bytesMethod(o, name), nil
		}
	case *loopValue:
		return o.attr(rt, name)
	case *macroValue:
		return o.attr(name), nil
	case *cyclerValue:
		return o.attr(name), nil
	case *joinerValue:
		return o.attr(name), nil
	case *selfValue:
		return nil, nil
	case *boundMethod:
		if o.kind == "BlockReference" {
			switch name {
			case "name":
				return strValue(o.name), nil
			case "super":
				return rt.undefinedHint("there is no parent block called " + reprStr(o.name) + "."), nil
			}
		}
	case *funcValue:
		if o.class == "dict" {
			return dictClassAttr(o, name), nil
		}
	case *dictView:
		if name == "isdisjoint" && o.kind != viewValues || name == "mapping" {
			return viewAttr(o, name), nil
		}
	}
	return nil, nil
}

// subscript is Python's obj[key].
func (rt *state) subscript(obj, key Value) (Value, error) {
	if s, ok := key.(sliceValue); ok {
		return rt.slice(obj, s)
	}
	switch o := obj.(type) {
	case *dictValue:
		v, ok, err := rt.lookup(o, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, keyErr(reprShort(key))
		}
		return v, nil
	case *listValue:
		i, err := index(key, len(o.items), "list")
		if err != nil {
			return nil, err
		}
		return o.items[i], nil
	case *tupleValue:
		i, err := index(key, len(o.items), "tuple")
		if err != nil {
			return nil, err
		}
		return o.items[i], nil
	case strValue:
		return rt.charAt(string(o), key, false)
	case markupValue:
		return rt.charAt(string(o), key, true)
	case bytesValue:
		i, err := index(key, len(o), "byte")
		if err != nil {
			return nil, err
		}
		return intValue(o[i]), nil
	case rangeValue:
		i, err := index(key, int(o.length), "range")
		if err != nil {
			return nil, err
		}
		return intValue(o.start + int64(i)*o.step), nil
	case *undefinedValue:
		if o.mode == Chainable {
			return o, nil
		}
		return nil, o.fail()
	case *selfValue:
		if name, ok := asText(key); ok {
			if b := o.block(rt, name); b != nil {
				return b, nil
			}
		}
		return nil, keyErr(reprShort(key))
	case *funcValue:
		if o.class == "dict" {
			text, err := rt.repr(key)
			return aliasValue("dict[" + text + "]"), err
		}
	}
	return nil, typeErr("'%s' object is not subscriptable", obj.typeName())
}

// index resolves an index, which may count from the end.
func index(key Value, n int, what string) (int, error) {
	i, ok := AsInt(key)
	if !ok {
		if _, big := key.(bigValue); big {
			return 0, indexErr("cannot fit 'int' into an index-sized integer")
		}
		return 0, typeErr("%s indices must be integers or slices, not %s", what, key.typeName())
	}
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		return 0, indexErr("%s index out of range", what)
	}
	return int(i), nil
}

func (rt *state) charAt(s string, key Value, markup bool) (Value, error) {
	if err := rt.work(len(s) / 16); err != nil {
		return nil, err
	}
	if isASCII(s) {
		i, err := index(key, len(s), "string")
		if err != nil {
			return nil, err
		}
		return strLike(s[i:i+1], markup), nil
	}
	i, err := index(key, utf8.RuneCountInString(s), "string")
	if err != nil {
		return nil, err
	}
	at := runeOffset(s, i)
	_, n := utf8.DecodeRuneInString(s[at:])
	return strLike(s[at:at+n], markup), nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// slice is obj[start:stop:step].
func (rt *state) slice(obj Value, s sliceValue) (Value, error) {
	switch o := obj.(type) {
	case *listValue:
		items, err := rt.sliceItems(o.items, s)
		return &listValue{items}, err
	case *tupleValue:
		items, err := rt.sliceItems(o.items, s)
		return newTuple(items), err
	case strValue:
		t, err := rt.sliceText(string(o), s)
		return strValue(t), err
	case markupValue:
		t, err := rt.sliceText(string(o), s)
		return markupValue(t), err
	case bytesValue:
		start, _, step, n, err := sliceBounds(s, len(o))
		out := make([]byte, 0, n)
		for range n {
			out = append(out, o[start])
			start += step
		}
		return bytesValue(out), err
	case rangeValue:
		start, stop, step, n, err := sliceBounds(s, int(o.length))
		if err != nil {
			return nil, err
		}
		return rangeValue{o.start + int64(start)*o.step, o.start + int64(stop)*o.step, o.step * int64(step), int64(n)}, nil
	case *undefinedValue:
		if o.mode == Chainable {
			return o, nil
		}
		return nil, o.fail()
	case *dictValue:
		return nil, typeErr("unhashable type: 'slice'")
	}
	return nil, typeErr("'%s' object is not subscriptable", obj.typeName())
}

func (rt *state) sliceItems(items []Value, s sliceValue) ([]Value, error) {
	start, _, step, n, err := sliceBounds(s, len(items))
	if err != nil || n == 0 {
		return nil, err
	}
	if step == 1 {
		return items[start : start+n : start+n], nil
	}
	if err := rt.chargeTimes(n, sizeValue); err != nil {
		return nil, err
	}
	out := make([]Value, n)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out, nil
}

func (rt *state) sliceText(s string, sl sliceValue) (string, error) {
	if err := rt.work(len(s) / 16); err != nil {
		return "", err
	}
	if isASCII(s) {
		start, _, step, n, err := sliceBounds(sl, len(s))
		if err != nil || n == 0 {
			return "", err
		}
		if step == 1 {
			return s[start : start+n], nil
		}
		if err := rt.charge(n); err != nil {
			return "", err
		}
		out := make([]byte, n)
		for i := range out {
			out[i] = s[start+i*step]
		}
		return string(out), nil
	}
	if err := rt.charge(6 * len(s)); err != nil {
		return "", err
	}
	r := []rune(s)
	start, _, step, n, err := sliceBounds(sl, len(r))
	if err != nil {
		return "", err
	}
	out := make([]rune, n)
	for i := range out {
		out[i] = r[start+i*step]
	}
	return string(out), nil
}

// sliceBounds resolves a slice of n items to start, stop, step and length.
func sliceBounds(s sliceValue, n int) (start, stop, step, length int, err error) {
	step, ok, err := sliceIndex(s.step)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	if !ok {
		step = 1
	}
	if step == 0 {
		return 0, 0, 0, 0, valueErr("slice step cannot be zero")
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	bound := func(v Value, def int) (int, error) {
		i, ok, err := sliceIndex(v)
		if err != nil {
			return 0, err
		}
		if !ok {
			return def, nil
		}
		if i < 0 {
			i += n
		}
		return min(max(i, low), high), nil
	}
	if step > 0 {
		start, stop = low, high
	} else {
		start, stop = high, low
	}
	if start, err = bound(s.start, start); err != nil {
		return 0, 0, 0, 0, err
	}
	if stop, err = bound(s.stop, stop); err != nil {
		return 0, 0, 0, 0, err
	}
	switch {
	case step > 0 && start < stop:
		length = (stop-start-1)/step + 1
	case step < 0 && stop < start:
		length = (start-stop-1)/(-step) + 1
	}
	return start, stop, step, length, nil
}

const maxIndex = 1 << 60

// sliceIndex reads a part of a slice. ok is false for None.
func sliceIndex(v Value) (n int, ok bool, err error) {
	switch v := v.(type) {
	case noneValue:
		return 0, false, nil
	case bigValue:
		if v.n.Cmp(new(big.Int)) < 0 {
			return -maxIndex, true, nil
		}
		return maxIndex, true, nil
	}
	i, ok := AsInt(v)
	if !ok {
		return 0, false, typeErr("slice indices must be integers or None or have an __index__ method")
	}
	return int(min(max(i, -maxIndex), maxIndex)), true, nil
}
