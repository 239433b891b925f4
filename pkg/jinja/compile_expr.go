package jinja

func (c *compiler) exprs(es []expr, f cframe) ([]evalFn, error) {
	out := make([]evalFn, len(es))
	for i, e := range es {
		x, err := c.expr(e, f)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

func (c *compiler) expr(e expr, f cframe) (evalFn, error) {
	if !c.folding && !c.unfolded && folds(e) && c.constant(e) {
		return c.folded(e, f)
	}
	return c.plainExpr(e, f)
}

func (c *compiler) plainExpr(e expr, f cframe) (evalFn, error) {
	switch e := e.(type) {
	case *constExpr:
		v := e.val
		return func(*frame) (Value, error) { return v, nil }, nil
	case *nameExpr:
		return c.name(e, f)
	case *attrExpr:
		return c.attr(e, f)
	case *itemExpr:
		return c.item(e, f)
	case *callExpr:
		return c.callWith(e, f, nil)
	case *filterExpr:
		return c.filter(e, f)
	case *testExpr:
		return c.test(e, f)
	case *binExpr:
		return c.binary(e, f)
	case *unaryExpr:
		return c.unary(e, f)
	case *notExpr:
		x, err := c.cond(e.x, f)
		return func(fr *frame) (Value, error) {
			ok, err := x(fr)
			if err != nil {
				return nil, err
			}
			return Bool(!ok), nil
		}, err
	case *logicExpr:
		return c.logic(e, f)
	case *compareExpr:
		return c.compare(e, f)
	case *concatExpr:
		return c.concat(e, f)
	case *condExpr:
		return c.condExpr(e, f)
	case *tupleExpr:
		return c.sequence(e.items, f, e.pos, func(items []Value) Value { return newTuple(items) })
	case *listExpr:
		return c.sequence(e.items, f, e.pos, func(items []Value) Value { return &listValue{items} })
	case *dictExpr:
		return c.dict(e, f)
	case *slotExpr:
		return func(fr *frame) (Value, error) { return fr.slots[e.idx], nil }, nil
	}
	return nil, c.fail(e.at(), "this cannot be used as an expression")
}

func (c *compiler) name(e *nameExpr, f cframe) (evalFn, error) {
	v, up, err := c.ref(f, e.name, e.pos)
	if err != nil {
		return nil, err
	}
	idx, name := v.idx, e.name
	if up == 0 {
		return func(fr *frame) (Value, error) {
			if v := fr.slots[idx]; v != nil {
				return v, nil
			}
			return lookedUp(fr.rt.undefinedName(name), nil, e), nil
		}, nil
	}
	return func(fr *frame) (Value, error) {
		g := fr
		for n := up; n > 0; n-- {
			g = g.parent
		}
		if v := g.slots[idx]; v != nil {
			return v, nil
		}
		return lookedUp(fr.rt.undefinedName(name), nil, e), nil
	}, nil
}

func (c *compiler) attr(e *attrExpr, f cframe) (evalFn, error) {
	obj, err := c.expr(e.obj, f)
	if err != nil {
		return nil, err
	}
	name, at := e.name, e.pos
	plain := !typeAttrs["dict"].has(name) && name[0] != '_'
	return func(fr *frame) (Value, error) {
		o, err := obj(fr)
		if err != nil {
			return nil, err
		}
		if plain {
			if d, ok := o.(*dictValue); ok {
				if i := d.findStr(name); i >= 0 {
					return d.vals[i], nil
				}
				return lookedUp(fr.rt.undefinedAttr(o, strValue(name)), o, e), nil
			}
		}
		v, err := fr.rt.getattr(o, name)
		if err != nil {
			return nil, c.at(at, err)
		}
		return lookedUp(v, o, e), nil
	}, nil
}

func (c *compiler) item(e *itemExpr, f cframe) (evalFn, error) {
	obj, err := c.expr(e.obj, f)
	if err != nil {
		return nil, err
	}
	at := e.pos
	if s, ok := e.key.(*sliceExpr); ok {
		slice, err := c.slice(s, f)
		if err != nil {
			return nil, err
		}
		folding := c.folding
		return func(fr *frame) (Value, error) {
			o, err := obj(fr)
			if err != nil {
				return nil, err
			}
			s, err := slice(fr)
			if err != nil {
				return nil, err
			}
			if folding {
				v, err := fr.rt.getitem(o, s)
				return v, c.at(at, err)
			}
			v, err := fr.rt.subscript(o, s)
			return v, c.at(at, err)
		}, nil
	}
	key, err := c.expr(e.key, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		o, err := obj(fr)
		if err != nil {
			return nil, err
		}
		k, err := key(fr)
		if err != nil {
			return nil, err
		}
		v, err := fr.rt.getitem(o, k)
		return lookedUp(v, o, e), c.at(at, err)
	}, nil
}

// sliceValue is the key of a slice. An omitted part is nil.
type sliceValue struct{ start, stop, step Value }

func (sliceValue) typeName() string { return "slice" }

func (c *compiler) slice(e *sliceExpr, f cframe) (evalFn, error) {
	var parts [3]evalFn
	for i, x := range []expr{e.start, e.stop, e.step} {
		if x == nil {
			continue
		}
		p, err := c.expr(x, f)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return func(fr *frame) (Value, error) {
		vals := [3]Value{None, None, None}
		for i, p := range parts {
			if p == nil {
				continue
			}
			v, err := p(fr)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		return sliceValue{vals[0], vals[1], vals[2]}, nil
	}, nil
}

func (c *compiler) binary(e *binExpr, f cframe) (evalFn, error) {
	l, err := c.expr(e.l, f)
	if err != nil {
		return nil, err
	}
	r, err := c.expr(e.r, f)
	if err != nil {
		return nil, err
	}
	op, at := e.op, e.pos
	return func(fr *frame) (Value, error) {
		a, err := l(fr)
		if err != nil {
			return nil, err
		}
		b, err := r(fr)
		if err != nil {
			return nil, err
		}
		v, err := fr.rt.binary(op, a, b)
		return v, c.at(at, err)
	}, nil
}

func (c *compiler) unary(e *unaryExpr, f cframe) (evalFn, error) {
	x, err := c.expr(e.x, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		v, err := x(fr)
		if err != nil {
			return nil, err
		}
		v, err = fr.rt.unary(e.op, v)
		return v, c.at(e.pos, err)
	}, nil
}

func (c *compiler) logic(e *logicExpr, f cframe) (evalFn, error) {
	l, err := c.expr(e.l, f)
	if err != nil {
		return nil, err
	}
	r, err := c.expr(e.r, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		a, err := l(fr)
		if err != nil {
			return nil, err
		}
		ok, err := truthy(fr.rt, a)
		if err != nil {
			return nil, c.at(e.pos, err)
		}
		if ok != e.and {
			return a, nil
		}
		return r(fr)
	}, nil
}

func (c *compiler) compare(e *compareExpr, f cframe) (evalFn, error) {
	first, err := c.expr(e.x, f)
	if err != nil {
		return nil, err
	}
	rest := make([]evalFn, len(e.ops))
	for i, op := range e.ops {
		if rest[i], err = c.expr(op.x, f); err != nil {
			return nil, err
		}
	}
	return func(fr *frame) (Value, error) {
		a, err := first(fr)
		if err != nil {
			return nil, err
		}
		for i, r := range rest {
			b, err := r(fr)
			if err != nil {
				return nil, err
			}
			ok, err := fr.rt.compare(e.ops[i].op, a, b)
			if err != nil {
				return nil, c.at(e.pos, err)
			}
			if !ok {
				return valFalse, nil
			}
			a = b
		}
		return valTrue, nil
	}, nil
}

func (c *compiler) concat(e *concatExpr, f cframe) (evalFn, error) {
	parts, err := c.exprs(e.parts, f)
	if err != nil {
		return nil, err
	}
	mode := c.escapeMode()
	return func(fr *frame) (Value, error) {
		rt := fr.rt
		vals, mark := rt.args(len(parts))
		defer rt.release(mark)
		for i, p := range parts {
			v, err := p(fr)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		v, err := rt.concat(vals, mode != escapeNever)
		return v, c.at(e.pos, err)
	}, nil
}

func (c *compiler) condExpr(e *condExpr, f cframe) (evalFn, error) {
	f = f.softened()
	test, err := c.cond(e.test, f)
	if err != nil {
		return nil, err
	}
	then, err := c.expr(e.then, f)
	if err != nil {
		return nil, err
	}
	var other evalFn
	if e.other != nil {
		if other, err = c.expr(e.other, f); err != nil {
			return nil, err
		}
	}
	return func(fr *frame) (Value, error) {
		ok, err := test(fr)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return then(fr)
		case other != nil:
			return other(fr)
		}
		// A missing else yields an Undefined of the default class, whatever the engine's class is.
		return &undefinedValue{hint: "the inline if-expression evaluated to false and no else section was defined."}, nil
	}, nil
}

func (c *compiler) sequence(items []expr, f cframe, at pos, build func([]Value) Value) (evalFn, error) {
	parts, err := c.exprs(items, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		if err := fr.rt.charge(sizeList + sizeValue*len(parts)); err != nil {
			return nil, c.at(at, err)
		}
		vals := make([]Value, len(parts))
		for i, p := range parts {
			v, err := p(fr)
			if err != nil {
				return nil, err
			}
			vals[i] = v
		}
		return build(vals), nil
	}, nil
}

func (c *compiler) dict(e *dictExpr, f cframe) (evalFn, error) {
	keys, err := c.exprs(e.keys, f)
	if err != nil {
		return nil, err
	}
	vals, err := c.exprs(e.vals, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		if err := fr.rt.charge(sizeList + sizeEntry*len(keys)); err != nil {
			return nil, c.at(e.pos, err)
		}
		d := newDict(len(keys))
		for i, key := range keys {
			k, err := key(fr)
			if err != nil {
				return nil, err
			}
			v, err := vals[i](fr)
			if err != nil {
				return nil, err
			}
			if err := fr.rt.payKey(k); err != nil {
				return nil, c.at(e.pos, err)
			}
			if err := d.set(k, v); err != nil {
				return nil, c.at(e.pos, err)
			}
		}
		return d, nil
	}, nil
}
