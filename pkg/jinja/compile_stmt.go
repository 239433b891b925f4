package jinja

func (c *compiler) stmts(body []stmt, f cframe) ([]execFn, error) {
	out := make([]execFn, 0, len(body))
	for _, s := range body {
		e, err := c.stmt(s, f)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

func (c *compiler) stmt(s stmt, f cframe) (execFn, error) {
	switch s := s.(type) {
	case *outputStmt:
		return c.output(s, f)
	case *ifStmt:
		return c.ifStmt(s, f)
	case *forStmt:
		return c.forStmt(s, f)
	case *setStmt:
		return c.set(s, f)
	case *setBlockStmt:
		return c.setBlock(s, f)
	case *macroStmt:
		return c.macro(s, f)
	case *callStmt:
		return c.callBlock(s, f)
	case *filterStmt:
		return c.filterBlock(s, f)
	case *withStmt:
		return c.with(s, f)
	case *autoescapeStmt:
		return c.autoescapeStmt(s, f)
	case *blockStmt:
		return c.block(s, f)
	case *loaderStmt:
		return c.loader(s, f)
	}
	return nil, c.fail(s.at(), "unknown statement")
}

// escapeMode is how printed values are escaped.
type escapeMode uint8

const (
	escapeNever escapeMode = iota
	escapeAlways
	escapeVolatile // as the evaluation context says when running
)

func (c *compiler) escapeMode() escapeMode {
	switch {
	case c.volatile:
		return escapeVolatile
	case c.autoescape:
		return escapeAlways
	}
	return escapeNever
}

func (c *compiler) output(s *outputStmt, f cframe) (execFn, error) {
	mode := c.escapeMode()
	var parts []execFn
	for _, it := range s.items {
		if d, ok := it.(*dataExpr); ok {
			text := d.text
			parts = append(parts, func(fr *frame) error { return c.at(d.pos, fr.rt.write(text)) })
			continue
		}
		c.folding = c.constant(it)
		e, err := c.expr(it, f)
		folded := c.folding
		c.folding = false
		if err == nil && folded {
			err = c.checkConstant(it, e)
		}
		if err != nil {
			return nil, err
		}
		at := it.at()
		mode := mode
		if mode == escapeVolatile && folded {
			// Jinja prints constants at compile time, with the escaping known then.
			mode = escapeNever
			if c.autoescape {
				mode = escapeAlways
			}
		}
		parts = append(parts, func(fr *frame) error {
			v, err := e(fr)
			if err == nil {
				rt := fr.rt
				if rt.steps--; rt.steps <= rt.check {
					err = rt.slowStep()
				}
				if err == nil {
					err = rt.print(v, mode == escapeAlways || mode == escapeVolatile && rt.autoescape)
				}
			}
			if err != nil {
				return c.at(at, err)
			}
			return nil
		})
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return func(fr *frame) error { return run(fr, parts) }, nil
}

// at adds a position to an error. Without an error it is cheap.
func (c *compiler) at(p pos, err error) error {
	if err == nil {
		return nil
	}
	return locate(err, c.src, p)
}

func (c *compiler) ifStmt(s *ifStmt, f cframe) (execFn, error) {
	f = f.softened()
	type branch struct {
		test condFn
		body []execFn
	}
	var branches []branch
	add := func(s *ifStmt) error {
		test, err := c.cond(s.test, f)
		if err != nil {
			return err
		}
		body, err := c.stmts(s.body, f)
		branches = append(branches, branch{test, body})
		return err
	}
	if err := add(s); err != nil {
		return nil, err
	}
	for _, e := range s.elifs {
		if err := add(e); err != nil {
			return nil, err
		}
	}
	other, err := c.stmts(s.other, f)
	if err != nil {
		return nil, err
	}
	return func(fr *frame) error {
		for i := range branches {
			ok, err := branches[i].test(fr)
			if err != nil {
				return err
			}
			if ok {
				return run(fr, branches[i].body)
			}
		}
		return run(fr, other)
	}, nil
}

// condFn evaluates an expression as a condition.
type condFn func(*frame) (bool, error)

func (c *compiler) cond(e expr, f cframe) (condFn, error) {
	if n, ok := e.(*notExpr); ok {
		inner, err := c.cond(n.x, f)
		if err != nil {
			return nil, err
		}
		return func(fr *frame) (bool, error) {
			ok, err := inner(fr)
			return !ok, err
		}, nil
	}
	x, err := c.expr(e, f)
	if err != nil {
		return nil, err
	}
	at := e.at()
	return func(fr *frame) (bool, error) {
		v, err := x(fr)
		if err != nil {
			return false, err
		}
		if b, ok := v.(boolValue); ok {
			return bool(b), nil
		}
		ok, err := truthy(fr.rt, v)
		return ok, c.at(at, err)
	}, nil
}

// track records the names that a statement assigns. export returns the function that copies them to the context.
func (c *compiler) track() { c.tracked = append(c.tracked, make(map[string]bool)) }

func (c *compiler) export(f cframe) func(*frame) {
	n := len(c.tracked) - 1
	names := c.tracked[n]
	c.tracked = c.tracked[:n]
	if !f.toplevel || f.loop || f.block || !c.usesContext || len(names) == 0 {
		return nil
	}
	type export struct {
		name string
		idx  int
	}
	var out []export
	for name := range names {
		if v := f.sym.find(name); v != nil {
			out = append(out, export{name, v.idx})
		}
	}
	return func(fr *frame) {
		for _, e := range out {
			if v := fr.slots[e.idx]; v != nil {
				fr.ctx.vars[e.name] = v
			}
		}
	}
}

func (c *compiler) set(s *setStmt, f cframe) (execFn, error) {
	c.track()
	val, err := c.expr(s.val, f)
	if err != nil {
		return nil, err
	}
	assign, err := c.assign(s.target, f)
	if err != nil {
		return nil, err
	}
	check, err := c.namespaceCheck(s.target, f)
	if err != nil {
		return nil, err
	}
	export := c.export(f)
	at := s.pos
	return func(fr *frame) error {
		err := fr.rt.step()
		if err == nil && check != nil {
			err = check(fr)
		}
		if err != nil {
			return c.at(at, err)
		}
		v, err := val(fr)
		if err != nil {
			return err
		}
		if err := assign(fr, v); err != nil {
			return c.at(at, err)
		}
		if export != nil {
			export(fr)
		}
		return nil
	}, nil
}

func (c *compiler) setBlock(s *setBlockStmt, f cframe) (execFn, error) {
	c.track()
	inner := f.inner()
	inner.sym.visitStmts(s.body)
	enter, slots := c.enter(inner), scopeSlots(inner)
	body, err := c.stmts(s.body, inner)
	if err != nil {
		return nil, err
	}
	assign, err := c.assign(s.target, f)
	if err != nil {
		return nil, err
	}
	check, err := c.namespaceCheck(s.target, f)
	if err != nil {
		return nil, err
	}
	var filter func(*frame, Value) (Value, error)
	if s.filter != nil {
		if filter, err = c.filterChain(s.filter, inner); err != nil {
			return nil, err
		}
	}
	export := c.export(f)
	mode := c.escapeMode()
	at := s.pos
	return func(fr *frame) error {
		rt := fr.rt
		enterScope(fr, enter)
		text, err := rt.capture(func() error { return run(fr, body) })
		if err != nil {
			return c.at(at, err)
		}
		var v Value = strValue(text)
		if filter != nil {
			if mode == escapeAlways || mode == escapeVolatile && rt.autoescape {
				v = markupValue(text)
			}
			if v, err = filter(fr, v); err != nil {
				return err
			}
		}
		if rt.autoescape {
			if v, err = rt.toMarkup(v); err != nil {
				return c.at(at, err)
			}
		}
		if check != nil {
			if err := check(fr); err != nil {
				return c.at(at, err)
			}
		}
		if err := assign(fr, v); err != nil {
			return c.at(at, err)
		}
		if export != nil {
			export(fr)
		}
		leaveScope(fr, slots)
		return nil
	}, nil
}

func (c *compiler) filterBlock(s *filterStmt, f cframe) (execFn, error) {
	inner := f.inner()
	inner.sym.visitStmts(s.body)
	inner.sym.visitExpr(s.filter)
	enter, slots := c.enter(inner), scopeSlots(inner)
	body, err := c.stmts(s.body, inner)
	if err != nil {
		return nil, err
	}
	filter, err := c.filterChain(s.filter, inner)
	if err != nil {
		return nil, err
	}
	mode := c.escapeMode()
	at := s.pos
	return func(fr *frame) error {
		rt := fr.rt
		enterScope(fr, enter)
		text, err := rt.capture(func() error { return run(fr, body) })
		if err != nil {
			return c.at(at, err)
		}
		var v Value = strValue(text)
		if mode == escapeAlways || mode == escapeVolatile && rt.autoescape {
			v = markupValue(text)
		}
		if v, err = filter(fr, v); err != nil {
			return err
		}
		leaveScope(fr, slots)
		return c.at(at, rt.writeText(v))
	}, nil
}

// writeText writes the result of a filter or call block, which must be a str.
func (rt *state) writeText(v Value) error {
	s, ok := asText(v)
	if !ok && rt.out.bad == nil {
		rt.out.bad = typeErr("sequence item 0: expected str instance, %s found", v.typeName())
	}
	return rt.write(s)
}

func (c *compiler) with(s *withStmt, f cframe) (execFn, error) {
	inner := f.inner()
	inner.sym.visitExprs(s.targets)
	inner.sym.visitStmts(s.body)
	enter, slots := c.enter(inner), scopeSlots(inner)
	var vals []evalFn
	var targets []assignFn
	for i, t := range s.targets {
		v, err := c.expr(s.vals[i], f)
		if err != nil {
			return nil, err
		}
		a, err := c.assign(t, inner)
		if err != nil {
			return nil, err
		}
		vals, targets = append(vals, v), append(targets, a)
	}
	body, err := c.stmts(s.body, inner)
	if err != nil {
		return nil, err
	}
	at := s.pos
	return func(fr *frame) error {
		enterScope(fr, enter)
		for i, val := range vals {
			v, err := val(fr)
			if err != nil {
				return err
			}
			if err := targets[i](fr, v); err != nil {
				return c.at(at, err)
			}
		}
		if err := run(fr, body); err != nil {
			return err
		}
		leaveScope(fr, slots)
		return nil
	}, nil
}

func (c *compiler) autoescapeStmt(s *autoescapeStmt, f cframe) (execFn, error) {
	inner := f.inner()
	inner.sym.visitExpr(s.val)
	inner.sym.visitStmts(s.body)
	enter, slots := c.enter(inner), scopeSlots(inner)
	val, err := c.expr(s.val, inner)
	if err != nil {
		return nil, err
	}
	autoescape, volatile := c.autoescape, c.volatile
	if k, ok := s.val.(*constExpr); ok {
		c.autoescape, _ = truthy(nil, k.val)
	} else {
		c.volatile = true
	}
	body, err := c.stmts(s.body, inner)
	c.autoescape, c.volatile = autoescape, volatile
	if err != nil {
		return nil, err
	}
	at := s.pos
	return func(fr *frame) error {
		rt := fr.rt
		enterScope(fr, enter)
		v, err := val(fr)
		if err != nil {
			return err
		}
		saved := rt.autoescape
		if rt.autoescape, err = truthy(rt, v); err != nil {
			return c.at(at, err)
		}
		err = run(fr, body)
		rt.autoescape = saved
		leaveScope(fr, slots)
		return err
	}, nil
}

func (c *compiler) block(s *blockStmt, f cframe) (execFn, error) {
	prog := c.blocks[s.name]
	at := s.pos
	type local struct {
		name string
		v    *variable
		up   int
	}
	var locals []local
	if s.scoped {
		seen := make(map[string]bool)
		for sym := f.sym; sym != nil; sym = sym.parent {
			for name := range sym.stores {
				if !seen[name] {
					seen[name] = true
					v := f.sym.find(name)
					locals = append(locals, local{name, v, distance(f.sym.fn, v.fn)})
				}
			}
		}
	}
	return func(fr *frame) error {
		if s.required {
			return c.at(at, templateErr("Required block %s not found", reprStr(s.name)))
		}
		ctx := fr.ctx
		if s.scoped {
			vars := make(map[string]Value, len(locals))
			for _, l := range locals {
				g := fr
				for n := l.up; n > 0; n-- {
					g = g.parent
				}
				if v := g.slots[l.v.idx]; v != nil {
					vars[l.name] = v
				}
			}
			ctx = &scopeContext{parent: fr.ctx, vars: vars}
		}
		return c.at(at, fr.rt.renderBlock(prog, ctx, ctx))
	}, nil
}

// loader compiles a statement that needs another template. Executing it fails, because there is no loader.
func (c *compiler) loader(s *loaderStmt, f cframe) (execFn, error) {
	if s.tag == "extends" && !f.toplevel {
		return nil, c.fail(s.pos, "cannot use extend from a non top-level scope")
	}
	name, err := c.expr(s.template, f)
	if err != nil {
		return nil, err
	}
	at := s.pos
	return func(fr *frame) error {
		v, err := name(fr)
		if err != nil {
			return err
		}
		if l, ok := Elements(v); ok && s.tag == "include" && len(l) == 0 {
			if s.ignoreMissing {
				return nil
			}
			return c.at(at, otherErr("TemplatesNotFound", "Tried to select from an empty list of templates."))
		}
		return c.at(at, typeErr("no loader for this environment specified"))
	}, nil
}
