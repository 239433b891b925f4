package jinja

// assignFn assigns a value to a target.
type assignFn func(*frame, Value) error

func (c *compiler) assign(e expr, f cframe) (assignFn, error) {
	switch e := e.(type) {
	case *nameExpr:
		if e.mode == modeStore && len(c.tracked) > 0 {
			c.tracked[len(c.tracked)-1][e.name] = true
		}
		v, up, err := c.ref(f, e.name, e.pos)
		if err != nil {
			return nil, err
		}
		idx := v.idx
		if up == 0 {
			return func(fr *frame, val Value) error {
				fr.slots[idx] = val
				return nil
			}, nil
		}
		return func(fr *frame, val Value) error {
			for n := up; n > 0; n-- {
				fr = fr.parent
			}
			fr.slots[idx] = val
			return nil
		}, nil
	case *nsRefExpr:
		load, err := c.name(&nameExpr{e.node, e.name, modeLoad}, f)
		if err != nil {
			return nil, err
		}
		attr := e.attr
		return func(fr *frame, val Value) error {
			v, err := load(fr)
			if err != nil {
				return err
			}
			ns, ok := v.(*namespaceValue)
			if !ok {
				return templateErr("cannot assign attribute on non-namespace object")
			}
			if err := fr.rt.charge(sizeEntry); err != nil {
				return err
			}
			ns.attrs.setStr(attr, val)
			return nil
		}, nil
	case *tupleExpr:
		return c.unpack(e, f)
	}
	return nil, c.fail(e.at(), "can't assign to this")
}

func (c *compiler) unpack(e *tupleExpr, f cframe) (assignFn, error) {
	var parts []assignFn
	for _, it := range e.items {
		a, err := c.assign(it, f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, a)
	}
	at := e.pos
	return func(fr *frame, val Value) error {
		items, ok := Elements(val)
		if !ok {
			var err error
			if items, err = fr.rt.unpackItems(val, len(parts)); err != nil {
				return c.at(at, err)
			}
		}
		if len(items) != len(parts) {
			return c.at(at, unpackErr(len(items), len(parts)))
		}
		for i, p := range parts {
			if err := p(fr, items[i]); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func unpackErr(got, want int) error {
	if got > want {
		return valueErr("too many values to unpack (expected %d)", want)
	}
	return valueErr("not enough values to unpack (expected %d, got %d)", want, got)
}

// unpackItems returns the items of an iterable for n targets.
func (rt *state) unpackItems(v Value, n int) ([]Value, error) {
	it, err := rt.iterate(v)
	if err != nil {
		if isClass(err, classType) {
			return nil, typeErr("cannot unpack non-iterable %s object", v.typeName())
		}
		return nil, err
	}
	var items []Value
	for len(items) <= n {
		x, err := it.next(rt)
		if err != nil {
			return nil, err
		}
		if x == nil {
			break
		}
		items = append(items, x)
	}
	return items, nil
}

// namespaceCheck rejects an assignment to an attribute of anything but a namespace, before the value is evaluated. It is nil if
// the target has none.
func (c *compiler) namespaceCheck(e expr, f cframe) (func(*frame) error, error) {
	var names []*nsRefExpr
	var find func(expr)
	find = func(e expr) {
		switch e := e.(type) {
		case *nsRefExpr:
			names = append(names, e)
		case *tupleExpr:
			for _, it := range e.items {
				find(it)
			}
		}
	}
	find(e)
	if names == nil {
		return nil, nil
	}
	var loads []evalFn
	for _, n := range names {
		l, err := c.name(&nameExpr{n.node, n.name, modeLoad}, f)
		if err != nil {
			return nil, err
		}
		loads = append(loads, l)
	}
	return func(fr *frame) error {
		for _, l := range loads {
			v, err := l(fr)
			if err != nil {
				return err
			}
			if _, ok := v.(*namespaceValue); !ok {
				return templateErr("cannot assign attribute on non-namespace object")
			}
		}
		return nil
	}, nil
}
