package jinja

// loopProgram is a compiled for statement.
type loopProgram struct {
	assign  assignFn
	test    *loopTest
	enter   []loadOp
	slots   []int
	body    []execFn
	loopIdx int // slot of the loop variable, or -1 if the body does not use it
	// other runs if the loop had no iteration.
	otherEnter []loadOp
	otherSlots []int
	other      []execFn
	at         pos
	c          *compiler
}

// loopTest is the condition after the iterable.
type loopTest struct {
	enter  []loadOp
	assign assignFn
	cond   condFn
}

func (c *compiler) forStmt(s *forStmt, f cframe) (execFn, error) {
	c.enterLoop()
	defer func() { c.loopDepth-- }()
	if err := c.checkLoopNames(s); err != nil {
		return nil, err
	}
	iter, err := c.expr(s.iter, f)
	if err != nil {
		return nil, err
	}
	body, test, other := f.inner(), f.inner(), f.inner()
	if s.recursive {
		body = f.function()
		test.sym = newSymbols(f.sym, body.sym.fn)
		other.sym = newSymbols(f.sym, body.sym.fn)
	}
	body.loop = true
	p := &loopProgram{loopIdx: -1, at: s.pos, c: c}
	if s.recursive || undeclared(s.body, "loop")["loop"] || hasScopedBlock(s) {
		p.loopIdx = body.sym.param("loop").idx
	}
	body.sym.visitTarget(s.target)
	body.sym.visitStmts(s.body)
	if p.test, err = c.loopTest(s, test); err != nil {
		return nil, err
	}
	if p.assign, err = c.assign(s.target, body); err != nil {
		return nil, err
	}
	p.enter, p.slots = c.enter(body), scopeSlots(body)
	if p.body, err = c.stmts(s.body, body); err != nil {
		return nil, err
	}
	if s.other != nil {
		other.sym.visitStmts(s.other)
		p.otherEnter, p.otherSlots = c.enter(other), scopeSlots(other)
		if p.other, err = c.stmts(s.other, other); err != nil {
			return nil, err
		}
	}
	if s.recursive {
		return c.recursiveLoop(p, iter, body.sym.fn), nil
	}
	return func(fr *frame) error {
		v, err := iter(fr)
		if err != nil {
			return err
		}
		return c.at(p.at, p.run(fr, v, nil, 0))
	}, nil
}

// enterLoop counts a for statement. The caller decrements loopDepth after compiling it.
func (c *compiler) enterLoop() {
	c.loops++
	c.loopDepth++
	c.deepestLoop = max(c.deepestLoop, c.loopDepth)
}

// checkLoops rejects a template with more for statements, or more deeply nested ones, than the engine allows.
func (c *compiler) checkLoops() error {
	if most := c.engine.loops; most > 0 && c.loops > most {
		return budgetErr("Contains %d for loops. Templates can contain no more than %d for loops.", c.loops, most)
	}
	if most := c.engine.loopDepth; most > 0 && c.deepestLoop > most {
		return budgetErr("Contains nested for loops at a depth of %d. Templates can nest for loops no more than %d loops deep.",
			c.deepestLoop, most)
	}
	return nil
}

// checkLoopNames rejects assignments to the name loop inside a loop.
func (c *compiler) checkLoopNames(s *forStmt) error {
	var err error
	v := visitor{name: func(e *nameExpr) {
		if e.mode == modeStore && e.name == "loop" && err == nil {
			err = c.fail(e.pos, "Can't assign to special loop variable in for-loop target")
		}
	}}
	v.visit(s)
	return err
}

func hasScopedBlock(s *forStmt) bool {
	found := false
	v := visitor{name: func(*nameExpr) {}, stmt: func(s stmt) bool {
		if b, ok := s.(*blockStmt); ok && b.scoped {
			found = true
		}
		return true
	}}
	v.visit(s)
	return found
}

func (c *compiler) loopTest(s *forStmt, f cframe) (*loopTest, error) {
	if s.test == nil {
		return nil, nil
	}
	// The condition runs before the body, in a scope with slots at another level.
	f.sym.level += 1 << 16
	f.sym.visitTarget(s.target)
	f.sym.visitExpr(s.test)
	assign, err := c.assign(s.target, f)
	if err != nil {
		return nil, err
	}
	cond, err := c.cond(s.test, f)
	if err != nil {
		return nil, err
	}
	return &loopTest{c.enter(f), assign, cond}, nil
}

// recursiveLoop compiles a loop that is a function: loop(items) runs it on other items.
func (c *compiler) recursiveLoop(p *loopProgram, iter evalFn, fn *funcScope) execFn {
	mode := c.escapeMode()
	return func(fr *frame) error {
		v, err := iter(fr)
		if err != nil {
			return err
		}
		var recurse func(rt *state, v Value, depth int) (Value, error)
		recurse = func(rt *state, v Value, depth int) (Value, error) {
			if err := rt.enter(); err != nil {
				return nil, err
			}
			defer rt.leave()
			inner := &frame{rt: rt, parent: fr, slots: make([]Value, fn.n), ctx: fr.ctx}
			text, err := rt.capture(func() error { return p.run(inner, v, recurse, depth) })
			if err != nil {
				return nil, err
			}
			if mode == escapeAlways || mode == escapeVolatile && rt.autoescape {
				return markupValue(text), nil
			}
			return strValue(text), nil
		}
		out, err := recurse(fr.rt, v, 0)
		if err == nil {
			err = fr.rt.print(out, false)
		}
		return c.at(p.at, err)
	}
}

// run runs the loop over v.
func (p *loopProgram) run(fr *frame, v Value, recurse recurseFn, depth int) error {
	rt := fr.rt
	var turns int
	var err error
	if l, ok := v.(*listValue); ok && p.loopIdx < 0 && p.test == nil {
		turns, err = len(l.items), p.runList(fr, l.items)
	} else {
		turns, err = p.runIter(fr, v, recurse, depth)
	}
	if err != nil {
		return err
	}
	leaveScope(fr, p.slots)
	if turns > 0 || p.other == nil {
		return nil
	}
	if err := rt.step(); err != nil {
		return err
	}
	enterScope(fr, p.otherEnter)
	if err := run(fr, p.other); err != nil {
		return err
	}
	leaveScope(fr, p.otherSlots)
	return nil
}

func (p *loopProgram) runList(fr *frame, items []Value) error {
	for _, x := range items {
		if err := p.turn(fr, x); err != nil {
			return err
		}
	}
	return nil
}

func (p *loopProgram) turn(fr *frame, x Value) error {
	if err := fr.rt.step(); err != nil {
		return err
	}
	if err := p.assign(fr, x); err != nil {
		return err
	}
	enterScope(fr, p.enter)
	return run(fr, p.body)
}

func (p *loopProgram) runIter(fr *frame, v Value, recurse recurseFn, depth int) (int, error) {
	rt := fr.rt
	it, err := rt.iterate(v)
	if err != nil {
		return 0, err
	}
	if p.test != nil {
		enterScope(fr, p.test.enter)
		it = &testedIter{it: it, test: p.test, fr: fr}
		v = &iterValue{it: it, name: "generator"}
	}
	var loop *loopValue
	if p.loopIdx >= 0 {
		loop = newLoop(v, it, recurse, depth)
		it = loop
	}
	for turns := 0; ; turns++ {
		x, err := it.next(rt)
		if err != nil {
			return turns, err
		}
		if x == nil {
			return turns, nil
		}
		if loop != nil {
			fr.slots[p.loopIdx] = loop
		}
		if err := p.turn(fr, x); err != nil {
			return turns, err
		}
	}
}

// testedIter yields the items that pass a loop's test.
type testedIter struct {
	it   iterator
	test *loopTest
	fr   *frame
}

func (t *testedIter) next(rt *state) (Value, error) {
	for {
		x, err := t.it.next(rt)
		if err != nil || x == nil {
			return nil, err
		}
		if err := rt.step(); err != nil {
			return nil, err
		}
		if err := t.test.assign(t.fr, x); err != nil {
			return nil, err
		}
		ok, err := t.test.cond(t.fr)
		if err != nil {
			return nil, err
		}
		if ok {
			return x, nil
		}
	}
}
