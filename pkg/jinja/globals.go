package jinja

// builtinGlobals are the functions and classes that every template sees.
var builtinGlobals = Vars{
	"range":     &funcValue{builtin: defineRaw("range", makeRange)},
	"dict":      &funcValue{builtin: defineRaw("dict", makeDict), class: "dict"},
	"lipsum":    &funcValue{builtin: define("generate_lorem_ipsum", "n= html= min= max=", lipsum)},
	"cycler":    &funcValue{builtin: defineRaw("Cycler", makeCycler), class: "jinja2.utils.Cycler"},
	"joiner":    &funcValue{builtin: define("Joiner", "sep=", makeJoiner), class: "jinja2.utils.Joiner"},
	"namespace": &funcValue{builtin: defineRaw("Namespace", makeNamespace), class: "jinja2.utils.Namespace"},
}

func makeRange(rt *state, args callArgs) (Value, error) {
	if len(args.kw) > 0 {
		return nil, typeErr("safe_range() got an unexpected keyword argument '%s'", args.kw[0].name)
	}
	if len(args.pos) == 0 {
		return nil, typeErr("range expected at least 1 argument, got 0")
	}
	if len(args.pos) > 3 {
		return nil, typeErr("range expected at most 3 arguments, got %d", len(args.pos))
	}
	n := [3]int64{0, 0, 1}
	for i, v := range args.pos {
		k, ok := AsInt(v)
		if _, isBig := v.(bigValue); isBig || ok && (k > maxIndex || k < -maxIndex) {
			return nil, tooBigRange(rt)
		}
		if !ok {
			return nil, typeErr("'%s' object cannot be interpreted as an integer", v.typeName())
		}
		n[i] = k
	}
	if len(args.pos) == 1 {
		n[0], n[1] = 0, n[0]
	}
	if n[2] == 0 {
		return nil, valueErr("range() arg 3 must not be zero")
	}
	r := rangeValue{start: n[0], stop: n[1], step: n[2]}
	switch {
	case r.step > 0 && r.start < r.stop:
		r.length = (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.stop < r.start:
		r.length = (r.start-r.stop-1)/(-r.step) + 1
	}
	if r.length > rt.budget.Range {
		return nil, tooBigRange(rt)
	}
	return r, nil
}

func tooBigRange(rt *state) error {
	return overflowErr("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", rt.budget.Range)
}

// makeDict is dict(mapping or pairs, **entries).
func makeDict(rt *state, args callArgs) (Value, error) {
	if len(args.pos) > 1 {
		return nil, typeErr("dict expected at most 1 argument, got %d", len(args.pos))
	}
	d := newDict(len(args.kw))
	if len(args.pos) == 1 {
		if err := fillDict(rt, d, args.pos[0]); err != nil {
			return nil, err
		}
	}
	for _, k := range args.kw {
		if err := rt.charge(sizeEntry); err != nil {
			return nil, err
		}
		d.setStr(k.name, k.val)
	}
	return d, nil
}

func fillDict(rt *state, d *dictValue, from Value) error {
	if src, ok := from.(*dictValue); ok {
		if err := rt.chargeTimes(len(src.keys), sizeEntry); err != nil {
			return err
		}
		d.update(src)
		return rt.work(len(src.keys))
	}
	if u, ok := from.(*undefinedValue); ok {
		return u.fail() // dict() looks for a method keys first, and calls it
	}
	it, err := rt.iterate(from)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		x, err := it.next(rt)
		if err != nil {
			return err
		}
		if x == nil {
			return nil
		}
		pair, err := rt.toSlice(x)
		if err != nil {
			if isClass(err, classType) {
				return typeErr("cannot convert dictionary update sequence element #%d to a sequence", i)
			}
			return err
		}
		if len(pair) != 2 {
			return valueErr("dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		if err := rt.charge(sizeEntry); err != nil {
			return err
		}
		if err := rt.payKey(pair[0]); err != nil {
			return err
		}
		if err := d.set(pair[0], pair[1]); err != nil {
			return err
		}
	}
}

// namespaceValue is the result of namespace(), the only value whose attributes a template can set. It lives within one
// rendering.
type namespaceValue struct{ attrs *dictValue }

func (*namespaceValue) typeName() string { return "Namespace" }

func makeNamespace(rt *state, args callArgs) (Value, error) {
	d, err := makeDict(rt, args)
	if err != nil {
		return nil, err
	}
	return &namespaceValue{d.(*dictValue)}, nil
}

// cyclerValue is the result of cycler().
type cyclerValue struct {
	items []Value
	pos   int
}

func (*cyclerValue) typeName() string { return "Cycler" }

func makeCycler(_ *state, args callArgs) (Value, error) {
	if len(args.kw) > 0 {
		return nil, typeErr("Cycler.__init__() got an unexpected keyword argument '%s'", args.kw[0].name)
	}
	if len(args.pos) == 0 {
		return nil, otherErr("RuntimeError", "at least one item has to be provided")
	}
	return &cyclerValue{items: append([]Value(nil), args.pos...)}, nil
}

func (c *cyclerValue) attr(name string) Value {
	switch name {
	case "current":
		return c.items[c.pos]
	case "items":
		return newTuple(c.items)
	case "pos":
		return intValue(c.pos)
	case "next", "reset":
		return bindMethod(c, name, func(_ *state, args callArgs) (Value, error) {
			if len(args.pos)+len(args.kw) > 0 {
				return nil, typeErr("Cycler.%s() takes 1 positional argument but %d were given", name, len(args.pos)+1)
			}
			if name == "reset" {
				c.pos = 0
				return None, nil
			}
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v, nil
		})
	}
	return nil
}

// joinerValue is the result of joiner(): empty on the first call, then the separator.
type joinerValue struct {
	sep  Value
	used bool
}

func (*joinerValue) typeName() string { return "Joiner" }

func makeJoiner(_ *state, a []Value) (Value, error) {
	sep := a[0]
	if sep == nil {
		sep = strValue(", ")
	}
	return &joinerValue{sep: sep}, nil
}

func (j *joinerValue) call(args callArgs) (Value, error) {
	if len(args.pos)+len(args.kw) > 0 {
		return nil, typeErr("Joiner.__call__() takes 1 positional argument but %d were given", len(args.pos)+1)
	}
	if j.used {
		return j.sep, nil
	}
	j.used = true
	return emptyStr, nil
}

func (j *joinerValue) attr(name string) Value {
	switch name {
	case "sep":
		return j.sep
	case "used":
		return Bool(j.used)
	}
	return nil
}
