package jinja

// compiler translates the syntax tree to closures. Its state is what Jinja's compiler knows at a position of the template: the
// scope, and whether output is escaped.
type compiler struct {
	engine *Engine
	src    *source
	blocks map[string]*blockProgram
	// escaping is known at compile time, unless {% autoescape %} has a variable, which makes it volatile.
	autoescape, volatile bool
	usesContext          bool
	// folding is set inside an expression that Jinja evaluates at compile time. A slice there is an ordinary item, so a slice
	// that fails is undefined.
	folding bool
	// unfolded is set while such an expression is compiled again because it has no value at compile time.
	unfolded bool
	tracked  []map[string]bool // names assigned by the statement being compiled
	reads    map[string]bool   // names looked up in the context
	// loops counts the for statements so far, loopDepth those around the current position, deepestLoop the maximum.
	loops, loopDepth, deepestLoop int
}

// cframe is a scope while it is compiled.
type cframe struct {
	sym *symbols
	// toplevel is set outside all scopes, where the context receives assignments.
	toplevel bool
	loop     bool // the body of a loop
	block    bool // the body of a block
	soft     bool // inside of an if: unknown filters fail when they are reached
	root     bool
}

func (f cframe) inner() cframe { return cframe{sym: newSymbols(f.sym, f.sym.fn)} }

// function returns inner with its own slots.
func (f cframe) function() cframe {
	return cframe{sym: newSymbols(f.sym, &funcScope{parent: f.sym.fn})}
}

func (f cframe) softened() cframe {
	f.soft, f.root = true, false
	return f
}

func newCompiler(e *Engine, src *source) *compiler {
	return &compiler{engine: e, src: src, autoescape: e.autoescape, blocks: make(map[string]*blockProgram), reads: make(map[string]bool)}
}

func compile(e *Engine, src *source, body []stmt) (*Template, error) {
	c := newCompiler(e, src)
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

// collectBlocks finds all blocks and creates their empty programs.
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

// loadOp sets the value of a slot on entering a scope.
type loadOp struct {
	idx    int
	kind   loadKind
	name   string
	from   int
	fromUp int // number of activations between the slot and the one it copies
}

// enter returns the operations on entering the scope of f.
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

// scopeSlots returns the slots to clear on leaving the scope of f.
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

// ref returns the variable of a name.
func (c *compiler) ref(f cframe, name string, at pos) (*variable, int, error) {
	v := f.sym.find(name)
	if v == nil {
		return nil, 0, c.fail(at, "the name '%s' cannot be used here", name)
	}
	return v, distance(f.sym.fn, v.fn), nil
}
