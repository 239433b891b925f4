package jinja

// compiler turns the syntax tree into closures. Its state is what Jinja's compiler knows at a place of
// the template: the scope, and whether output is escaped there.
type compiler struct {
	engine *Engine
	src    *source
	blocks map[string]*blockProgram
	// escaping is known when compiling unless {% autoescape %} was given a variable, which makes it volatile.
	autoescape, volatile bool
	usesContext          bool
	// folding is set inside of an expression that Jinja evaluates when compiling: there a slice is an
	// item like any other, so that one that fails is missing.
	folding bool
	// unfolded is set while such an expression is compiled once more, for when it has no value then.
	unfolded bool
	tracked  []map[string]bool // names assigned by the statement being compiled
	reads    map[string]bool   // names looked up in the context
	// loops are the for statements so far, loopDepth those around the one being compiled, deepestLoop the most there were.
	loops, loopDepth, deepestLoop int
}

// cframe is a scope while it is compiled.
type cframe struct {
	sym *symbols
	// toplevel is set outside of all scopes, where assignments are exported to the context.
	toplevel bool
	loop     bool // the body of a loop
	block    bool // the body of a block
	soft     bool // inside of an if: unknown filters fail when they are reached
	root     bool
}

func (f cframe) inner() cframe { return cframe{sym: newSymbols(f.sym, f.sym.fn)} }

// function is inner with slots of its own.
func (f cframe) function() cframe {
	return cframe{sym: newSymbols(f.sym, &funcScope{parent: f.sym.fn})}
}

func (f cframe) softened() cframe {
	f.soft, f.root = true, false
	return f
}

func compile(e *Engine, src *source, body []stmt) (*Template, error) {
	c := &compiler{engine: e, src: src, autoescape: e.autoescape, blocks: make(map[string]*blockProgram), reads: make(map[string]bool)}
	blocks, err := c.collectBlocks(body)
	if err != nil {
		return nil, err
	}
	c.usesContext = len(blocks) > 0
	f := cframe{sym: newSymbols(nil, &funcScope{}), toplevel: true, root: true}
	self := -1
	if undeclared(body, "self")["self"] {
		self = f.sym.param("self").idx
	}
	f.sym.visitStmts(body)
	enter := c.enter(f)
	prog, err := c.stmts(body, f)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if err := c.compileBlock(b); err != nil {
			return nil, err
		}
	}
	if err := c.checkLoops(); err != nil {
		return nil, err
	}
	t := &Template{engine: e, src: src, slots: f.sym.fn.n, blocks: c.blocks, reads: c.reads, usesContext: c.usesContext}
	t.body = append([]execFn{func(fr *frame) error {
		if self >= 0 {
			fr.slots[self] = &selfValue{ctx: fr.ctx}
		}
		enterScope(fr, enter)
		return nil
	}}, prog...)
	return t, nil
}

// collectBlocks finds all blocks and makes their programs, still empty.
func (c *compiler) collectBlocks(body []stmt) ([]*blockStmt, error) {
	var found []*blockStmt
	var err error
	v := visitor{name: func(*nameExpr) {}, stmt: func(s stmt) bool {
		if b, ok := s.(*blockStmt); ok {
			if c.blocks[b.name] != nil && err == nil {
				err = c.fail(b.pos, "block '%s' defined twice", b.name)
			}
			c.blocks[b.name] = &blockProgram{name: b.name, self: -1, super: -1}
			found = append(found, b)
		}
		return true
	}}
	v.stmts(body)
	return found, err
}

func (c *compiler) compileBlock(b *blockStmt) error {
	prog := c.blocks[b.name]
	f := cframe{sym: newSymbols(nil, &funcScope{}), block: true}
	names := undeclared(b.body, "self", "super")
	if names["self"] {
		prog.self = f.sym.param("self").idx
	}
	if names["super"] {
		prog.super = f.sym.param("super").idx
	}
	f.sym.visitStmts(b.body)
	prog.enter = c.enter(f)
	body, err := c.stmts(b.body, f)
	prog.body, prog.slots = body, f.sym.fn.n
	return err
}

func (c *compiler) fail(at pos, format string, args ...any) error {
	return syntaxErr(c.src, at, format, args...)
}

// loadOp gives a slot its value when a scope is entered.
type loadOp struct {
	idx    int
	kind   loadKind
	name   string
	from   int
	fromUp int // number of activations between the slot and the one it copies
}

// enter returns what must be done when the scope of f is entered.
func (c *compiler) enter(f cframe) []loadOp {
	var ops []loadOp
	for _, v := range f.sym.order {
		l := f.sym.loads[v]
		switch l.kind {
		case loadResolve:
			c.reads[l.name] = true
			ops = append(ops, loadOp{idx: v.idx, kind: loadResolve, name: l.name})
		case loadAlias:
			ops = append(ops, loadOp{idx: v.idx, kind: loadAlias, from: l.from.idx, fromUp: distance(f.sym.fn, l.from.fn)})
		case loadUndefined:
			ops = append(ops, loadOp{idx: v.idx, kind: loadUndefined})
		}
	}
	return ops
}

// scopeSlots returns the slots that are empty again when the scope of f is left.
func scopeSlots(f cframe) []int {
	var out []int
	for _, v := range f.sym.order {
		out = append(out, v.idx)
	}
	return out
}

func distance(from, to *funcScope) int {
	n := 0
	for ; from != to; from = from.parent {
		n++
	}
	return n
}

func enterScope(f *frame, ops []loadOp) {
	for i := range ops {
		op := &ops[i]
		switch op.kind {
		case loadResolve:
			f.slots[op.idx] = f.resolve(op.name)
		case loadAlias:
			g := f
			for n := op.fromUp; n > 0; n-- {
				g = g.parent
			}
			f.slots[op.idx] = g.slots[op.from]
		case loadUndefined:
			f.slots[op.idx] = nil
		}
	}
}

func leaveScope(f *frame, slots []int) {
	for _, i := range slots {
		f.slots[i] = nil
	}
}

// ref finds the variable of a name.
func (c *compiler) ref(f cframe, name string, at pos) (*variable, int, error) {
	v := f.sym.find(name)
	if v == nil {
		return nil, 0, c.fail(at, "the name '%s' cannot be used here", name)
	}
	return v, distance(f.sym.fn, v.fn), nil
}
