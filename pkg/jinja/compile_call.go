package jinja

// callArgs are the evaluated arguments of a call.
type callArgs struct {
	pos []Value
	kw  []kwArg
}

type kwArg struct {
	name string
	val  Value
}

// argsFn evaluates the arguments of a call.
type argsFn func(*frame) (callArgs, error)

func (c *compiler) arguments(a *arguments, f cframe) (argsFn, error) {
	pos, err := c.exprs(a.pos, f)
	if err != nil {
		return nil, err
	}
	kw := make([]evalFn, len(a.kw))
	for i, k := range a.kw {
		if kw[i], err = c.expr(k.val, f); err != nil {
			return nil, err
		}
	}
	var star, dict evalFn
	if a.star != nil {
		if star, err = c.expr(a.star, f); err != nil {
			return nil, err
		}
	}
	if a.dict != nil {
		if dict, err = c.expr(a.dict, f); err != nil {
			return nil, err
		}
	}
	return func(fr *frame) (callArgs, error) {
		var out callArgs
		if len(pos) > 0 {
			out.pos = make([]Value, len(pos))
		}
		for i, p := range pos {
			v, err := p(fr)
			if err != nil {
				return out, err
			}
			out.pos[i] = v
		}
		if star != nil {
			if err := starArgs(fr, star, &out); err != nil {
				return out, err
			}
		}
		for i, k := range kw {
			v, err := k(fr)
			if err != nil {
				return out, err
			}
			out.kw = append(out.kw, kwArg{a.kw[i].name, v})
		}
		if dict != nil {
			if err := dictArgs(fr, dict, &out); err != nil {
				return out, err
			}
		}
		return out, nil
	}, nil
}

func starArgs(fr *frame, star evalFn, out *callArgs) error {
	v, err := star(fr)
	if err != nil {
		return err
	}
	items, err := fr.rt.toSlice(v)
	if err != nil {
		if isClass(err, classType) {
			return typeErr("Value after * must be an iterable, not %s", v.typeName())
		}
		return err
	}
	out.pos = append(out.pos, items...)
	return nil
}

func dictArgs(fr *frame, dict evalFn, out *callArgs) error {
	v, err := dict(fr)
	if err != nil {
		return err
	}
	if u, ok := v.(*undefinedValue); ok && u.mode != Chainable {
		return u.fail()
	}
	d, ok := v.(*dictValue)
	if !ok {
		return typeErr("argument after ** must be a mapping, not %s", v.typeName())
	}
	for i, k := range d.keys {
		name, ok := asText(k)
		if !ok {
			return typeErr("keywords must be strings")
		}
		for _, other := range out.kw {
			if other.name == name {
				return typeErr("got multiple values for keyword argument '%s'", name)
			}
		}
		out.kw = append(out.kw, kwArg{name, d.vals[i]})
	}
	return nil
}

// callWith compiles a call. caller, if not nil, creates the value that a call block passes.
func (c *compiler) callWith(e *callExpr, f cframe, caller func(*frame) Value) (evalFn, error) {
	args, err := c.arguments(&e.args, f)
	if err != nil {
		return nil, err
	}
	at := e.pos
	if m, ok := e.fn.(*attrExpr); ok && caller == nil {
		return c.methodCall(m, args, f, at)
	}
	fn, err := c.expr(e.fn, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		callee, err := fn(fr)
		if err != nil {
			return nil, err
		}
		a, err := args(fr)
		if err != nil {
			return nil, c.at(at, err)
		}
		if caller != nil {
			a.kw = append(a.kw, kwArg{"caller", caller(fr)})
		}
		v, err := fr.rt.call(callee, a)
		return v, c.at(at, err)
	}, nil
}

// methodCall compiles x.name(...) without creating a bound method of a str first.
func (c *compiler) methodCall(m *attrExpr, args argsFn, f cframe, at pos) (evalFn, error) {
	obj, err := c.expr(m.obj, f)
	if err != nil {
		return nil, err
	}
	method := c.engine.methods.str[m.name]
	return func(fr *frame) (Value, error) {
		o, err := obj(fr)
		if err != nil {
			return nil, err
		}
		s, isStr := o.(strValue)
		if isStr && method != nil {
			a, err := args(fr)
			if err != nil {
				return nil, c.at(at, err)
			}
			v, err := method.call(fr.rt, s, a)
			return v, c.at(at, err)
		}
		callee, err := fr.rt.getattr(o, m.name)
		if err != nil {
			return nil, c.at(m.pos, err)
		}
		a, err := args(fr)
		if err != nil {
			return nil, c.at(at, err)
		}
		v, err := fr.rt.call(callee, a)
		return v, c.at(at, err)
	}, nil
}

// filter compiles a filter.
func (c *compiler) filter(e *filterExpr, f cframe) (evalFn, error) {
	b := c.engine.filters[e.name]
	if b == nil {
		return c.missing("filter", e.name, e.val, &e.args, f, e.pos)
	}
	return c.apply(b, e.val, &e.args, f, e.pos)
}

func (c *compiler) test(e *testExpr, f cframe) (evalFn, error) {
	b := c.engine.tests[e.name]
	if b == nil {
		return c.missing("test", e.name, e.val, &e.args, f, e.pos)
	}
	return c.apply(b, e.val, &e.args, f, e.pos)
}

// missing compiles the use of an unknown filter or test: a syntax error, except inside an if, where executing it fails.
func (c *compiler) missing(what, name string, val expr, args *arguments, f cframe, at pos) (evalFn, error) {
	if !f.soft {
		return nil, c.fail(at, "No %s named %s.", what, reprStr(name))
	}
	var x evalFn
	var err error
	if val != nil {
		if x, err = c.expr(val, f); err != nil {
			return nil, err
		}
	}
	a, err := c.arguments(args, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		if x != nil {
			if _, err := x(fr); err != nil {
				return nil, err
			}
		}
		if _, err := a(fr); err != nil {
			return nil, err
		}
		return nil, c.at(at, templateErr("No %s named %s found.", what, reprStr(name)))
	}, nil
}

// apply compiles the call of a filter or test. If its arguments can be bound at compile time, the call costs only their
// evaluation.
func (c *compiler) apply(b *builtin, val expr, args *arguments, f cframe, at pos) (evalFn, error) {
	x, err := c.expr(val, f)
	if err != nil {
		return nil, err
	}
	if b.raw == nil && args.star == nil && args.dict == nil {
		bound, ok, err := c.bindStatic(b, args, f)
		if err != nil {
			return nil, err
		}
		if ok {
			return c.applyBound(b, x, bound, at), nil
		}
	}
	eval, err := c.arguments(args, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) (Value, error) {
		v, err := x(fr)
		if err != nil {
			return nil, err
		}
		a, err := eval(fr)
		if err != nil {
			return nil, c.at(at, err)
		}
		a.pos = append([]Value{v}, a.pos...)
		if err = fr.rt.step(); err == nil {
			v, err = b.call(fr.rt, a)
		}
		return v, c.at(at, mentionMissing(err, a.pos))
	}, nil
}

// applyBound compiles the call of a filter or test whose arguments are bound.
func (c *compiler) applyBound(b *builtin, x evalFn, bound []boundArg, at pos) evalFn {
	n := len(b.params)
	return func(fr *frame) (Value, error) {
		rt := fr.rt
		a, mark := rt.args(n)
		defer rt.release(mark)
		v, err := x(fr)
		if err != nil {
			return nil, err
		}
		a[0] = v
		for _, s := range bound {
			v, err := s.eval(fr)
			if err != nil {
				return nil, err
			}
			a[s.idx] = v
		}
		if err = rt.step(); err == nil {
			if v, err = b.fn(rt, a); err == nil {
				return v, nil
			}
		}
		return nil, c.at(at, mentionMissing(err, a))
	}
}

type boundArg struct {
	idx  int
	eval evalFn
}

// bindStatic binds arguments to the parameters after the first. ok is false if they do not fit; the call then fails at run
// time.
func (c *compiler) bindStatic(b *builtin, args *arguments, f cframe) ([]boundArg, bool, error) {
	var out []boundArg
	taken := make([]bool, len(b.params))
	if len(args.pos)+1 > len(b.params) {
		return nil, false, nil
	}
	for i, e := range args.pos {
		x, err := c.expr(e, f)
		if err != nil {
			return nil, false, err
		}
		out = append(out, boundArg{i + 1, x})
		taken[i+1] = true
	}
	for _, k := range args.kw {
		i := b.param(k.name)
		if i <= 0 || taken[i] || b.params[i].posOnly {
			return nil, false, nil
		}
		x, err := c.expr(k.val, f)
		if err != nil {
			return nil, false, err
		}
		out = append(out, boundArg{i, x})
		taken[i] = true
	}
	for i, p := range b.params[1:] {
		if !p.optional && !taken[i+1] {
			return nil, false, nil
		}
	}
	return out, true, nil
}

// filterChain compiles the filters of a set or filter block to a function of the block's text.
func (c *compiler) filterChain(e *filterExpr, f cframe) (func(*frame, Value) (Value, error), error) {
	slot := &variable{f.sym.fn, f.sym.fn.n}
	slot.fn.n++
	last := e
	for last.val != nil {
		last = last.val.(*filterExpr)
	}
	last.val = &slotExpr{last.node, slot.idx}
	x, err := c.expr(e, f)
	last.val = nil
	if err != nil {
		return nil, err
	}
	return func(fr *frame, v Value) (Value, error) {
		fr.slots[slot.idx] = v
		return x(fr)
	}, nil
}

// slotExpr reads a slot without a name.
type slotExpr struct {
	node
	idx int
}
