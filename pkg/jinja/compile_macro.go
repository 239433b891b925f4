package jinja

import "strings"

// macroProgram is a compiled macro or call block.
type macroProgram struct {
	name     string // empty for a call block
	params   []string
	slots    int
	paramIdx []int
	defaults []evalFn // by parameter, nil when it has none
	// Slots of the special names, or -1 if the body does not use them.
	caller, kwargs, varargs int
	explicitCaller          bool
	enter                   []loadOp
	body                    []execFn
}

// macroBody compiles the function of a macro or call block.
func (c *compiler) macroBody(s *signatureNode, name string, at pos, f cframe) (*macroProgram, error) {
	inner := f.function()
	p := &macroProgram{name: name, caller: -1, kwargs: -1, varargs: -1}
	explicit := -1
	skip := make(map[string]bool)
	for i, a := range s.params {
		p.params = append(p.params, a.name)
		p.paramIdx = append(p.paramIdx, inner.sym.param(a.name).idx)
		switch a.name {
		case "caller":
			explicit = i
			p.explicitCaller = true
		case "kwargs", "varargs":
			skip[a.name] = true
		}
	}
	inner.sym.visitExprs(s.defaults)
	inner.sym.visitStmts(s.body)
	names := undeclared(s.body, "caller", "kwargs", "varargs")
	firstDefault := len(s.params) - len(s.defaults)
	if names["caller"] {
		if explicit < 0 {
			p.caller = inner.sym.param("caller").idx
		} else if explicit < firstDefault {
			return nil, c.fail(at, `When defining macros or call blocks the special "caller" argument must be omitted or be given a default.`)
		}
	}
	if names["kwargs"] && !skip["kwargs"] {
		p.kwargs = inner.sym.param("kwargs").idx
	}
	if names["varargs"] && !skip["varargs"] {
		p.varargs = inner.sym.param("varargs").idx
	}
	p.enter = c.enter(inner)
	p.defaults = make([]evalFn, len(s.params))
	for i, d := range s.defaults {
		e, err := c.expr(d, inner)
		if err != nil {
			return nil, err
		}
		p.defaults[firstDefault+i] = e
	}
	tracked := c.tracked
	c.tracked = nil
	body, err := c.stmts(s.body, inner)
	c.tracked = tracked
	p.body, p.slots = body, inner.sym.fn.n
	return p, err
}

func (c *compiler) macro(s *macroStmt, f cframe) (execFn, error) {
	p, err := c.macroBody(&s.signatureNode, s.name, s.pos, f)
	if err != nil {
		return nil, err
	}
	assign, err := c.assign(&nameExpr{s.node, s.name, modeParam}, f)
	if err != nil {
		return nil, err
	}
	export := f.toplevel && c.usesContext
	return func(fr *frame) error {
		m := &macroValue{prog: p, frame: fr}
		if export {
			fr.ctx.vars[p.name] = m
		}
		return assign(fr, m)
	}, nil
}

func (c *compiler) callBlock(s *callStmt, f cframe) (execFn, error) {
	p, err := c.macroBody(&s.signatureNode, "", s.pos, f)
	if err != nil {
		return nil, err
	}
	call, err := c.callWith(s.call, f, func(fr *frame) Value { return &macroValue{prog: p, frame: fr} })
	if err != nil {
		return nil, err
	}
	return func(fr *frame) error {
		v, err := call(fr)
		if err != nil {
			return err
		}
		return c.at(s.pos, fr.rt.writeText(v))
	}, nil
}

// macroValue is a macro, or the caller of a call block, with the activation that defined it.
type macroValue struct {
	prog  *macroProgram
	frame *frame
}

func (m *macroValue) typeName() string { return "Macro" }

func (m *macroValue) repr() string {
	if m.prog.name == "" {
		return "<Macro anonymous>"
	}
	return "<Macro " + reprStr(m.prog.name) + ">"
}

func (m *macroValue) attr(name string) Value {
	p := m.prog
	switch name {
	case "name":
		if p.name == "" {
			return None
		}
		return strValue(p.name)
	case "arguments":
		items := make([]Value, len(p.params))
		for i, n := range p.params {
			items[i] = strValue(n)
		}
		return newTuple(items)
	case "catch_kwargs":
		return Bool(p.kwargs >= 0)
	case "catch_varargs":
		return Bool(p.varargs >= 0)
	case "caller":
		return Bool(p.caller >= 0 || p.explicitCaller && m.usesCaller())
	case "explicit_caller":
		return Bool(p.explicitCaller)
	}
	return nil
}

// usesCaller reports whether a macro with a caller parameter counts as one that accesses its caller.
func (m *macroValue) usesCaller() bool { return m.prog.explicitCaller }

// call binds the arguments to slots by Jinja's rules and runs the body.
func (m *macroValue) call(rt *state, args callArgs) (Value, error) {
	p := m.prog
	if err := rt.enter(); err != nil {
		return nil, err
	}
	defer rt.leave()
	if err := rt.charge(sizeList + sizeValue*p.slots); err != nil {
		return nil, err
	}
	f := &frame{rt: rt, parent: m.frame, slots: make([]Value, p.slots), ctx: m.frame.ctx}
	if err := m.bind(f, args); err != nil {
		return nil, err
	}
	enterScope(f, p.enter)
	for i, idx := range p.paramIdx {
		if f.slots[idx] != nil {
			continue
		}
		if p.defaults[i] == nil {
			f.slots[idx] = &undefinedValue{
				mode: rt.engine.undefined, name: strValue(p.params[i]),
				hint: "parameter " + reprStr(p.params[i]) + " was not provided",
			}
			continue
		}
		v, err := p.defaults[i](f)
		if err != nil {
			return nil, err
		}
		f.slots[idx] = v
	}
	text, err := rt.capture(func() error { return run(f, p.body) })
	if err != nil {
		return nil, err
	}
	if rt.autoescape {
		return markupValue(text), nil
	}
	return strValue(text), nil
}

func (m *macroValue) bind(f *frame, args callArgs) error {
	p := m.prog
	n := min(len(args.pos), len(p.params))
	for i := range n {
		f.slots[p.paramIdx[i]] = args.pos[i]
	}
	used := make([]bool, len(args.kw))
	take := func(name string) Value {
		for i, k := range args.kw {
			if k.name == name && !used[i] {
				used[i] = true
				return k.val
			}
		}
		return nil
	}
	for i := n; i < len(p.params); i++ {
		f.slots[p.paramIdx[i]] = take(p.params[i])
	}
	if p.caller >= 0 {
		v := take("caller")
		if v == nil || v == None {
			v = &undefinedValue{mode: f.rt.engine.undefined, name: strValue("caller"), hint: "No caller defined"}
		}
		f.slots[p.caller] = v
	}
	rest := newDict(0)
	for i, k := range args.kw {
		if !used[i] {
			rest.setStr(k.name, k.val)
		}
	}
	if p.kwargs >= 0 {
		f.slots[p.kwargs] = rest
	} else if len(rest.keys) > 0 {
		if _, ok := rest.getStr("caller"); ok {
			return typeErr("macro %s was invoked with two values for the special caller argument. This is most likely a bug.", reprStr(p.name))
		}
		name, _ := asText(rest.keys[0])
		return typeErr("macro %s takes no keyword argument %s", reprStr(p.name), reprStr(name))
	}
	if p.varargs >= 0 {
		f.slots[p.varargs] = newTuple(append([]Value(nil), args.pos[n:]...))
	} else if len(args.pos) > len(p.params) {
		return typeErr("macro %s takes not more than %d argument(s)", reprStr(p.name), len(p.params))
	}
	return nil
}

// selfValue is the variable self: the blocks of the template.
type selfValue struct{ ctx *scopeContext }

func (s *selfValue) typeName() string { return "TemplateReference" }

// block returns the block called name as a callable, or nil if there is none.
func (s *selfValue) block(rt *state, name string) Value {
	b := rt.tpl.blocks[name]
	if b == nil {
		return nil
	}
	return &boundMethod{recv: s, name: name, kind: "BlockReference", fn: func(rt *state, args callArgs) (Value, error) {
		if len(args.pos)+len(args.kw) > 0 {
			return nil, typeErr("BlockReference.__call__() takes 1 positional argument but %d were given", 1+len(args.pos))
		}
		text, err := rt.capture(func() error { return rt.renderBlock(b, s.ctx, s.ctx) })
		if err != nil {
			return nil, err
		}
		if rt.autoescape {
			return markupValue(strings.Clone(text)), nil
		}
		return strValue(text), nil
	}}
}
