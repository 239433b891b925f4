package jinja

// children calls f with the direct parts of an expression, in Jinja's order.
func children(e expr, f func(expr)) {
	each := func(es []expr) {
		for _, e := range es {
			f(e)
		}
	}
	opt := func(e expr) {
		if e != nil {
			f(e)
		}
	}
	switch e := e.(type) {
	case *tupleExpr:
		each(e.items)
	case *listExpr:
		each(e.items)
	case *dictExpr:
		for i, k := range e.keys {
			f(k)
			f(e.vals[i])
		}
	case *attrExpr:
		f(e.obj)
	case *itemExpr:
		f(e.obj)
		f(e.key)
	case *sliceExpr:
		opt(e.start)
		opt(e.stop)
		opt(e.step)
	case *callExpr:
		f(e.fn)
		e.args.each(f)
	case *filterExpr:
		opt(e.val)
		e.args.each(f)
	case *testExpr:
		f(e.val)
		e.args.each(f)
	case *binExpr:
		f(e.l)
		f(e.r)
	case *unaryExpr:
		f(e.x)
	case *notExpr:
		f(e.x)
	case *logicExpr:
		f(e.l)
		f(e.r)
	case *concatExpr:
		each(e.parts)
	case *compareExpr:
		f(e.x)
		for _, op := range e.ops {
			f(op.x)
		}
	case *condExpr:
		f(e.test)
		f(e.then)
		opt(e.other)
	}
}

func (a *arguments) each(f func(expr)) {
	for _, e := range a.pos {
		f(e)
	}
	for _, k := range a.kw {
		f(k.val)
	}
	if a.star != nil {
		f(a.star)
	}
	if a.dict != nil {
		f(a.dict)
	}
}

// visitor receives the names of statements and expressions in Jinja's order, and the statements.
type visitor struct {
	name func(*nameExpr)
	// stmt receives a statement before its parts. If it returns false the parts are skipped. It may be nil.
	stmt func(stmt) bool
}

func (v *visitor) exprs(es []expr) {
	for _, e := range es {
		v.expr(e)
	}
}

func (v *visitor) expr(e expr) {
	switch e := e.(type) {
	case nil:
	case *nameExpr:
		v.name(e)
	case *filterExpr:
		if e != nil {
			children(e, v.expr)
		}
	default:
		children(e, v.expr)
	}
}

func (v *visitor) stmts(body []stmt) {
	for _, s := range body {
		v.visit(s)
	}
}

func (v *visitor) signature(s *signatureNode) {
	for _, p := range s.params {
		v.expr(p)
	}
	v.exprs(s.defaults)
	v.stmts(s.body)
}

func (v *visitor) visit(s stmt) {
	if v.stmt != nil && !v.stmt(s) {
		return
	}
	switch s := s.(type) {
	case *outputStmt:
		v.exprs(s.items)
	case *forStmt:
		v.expr(s.target)
		v.expr(s.iter)
		v.stmts(s.body)
		v.stmts(s.other)
		v.expr(s.test)
	case *ifStmt:
		v.expr(s.test)
		v.stmts(s.body)
		for _, e := range s.elifs {
			v.visit(e)
		}
		v.stmts(s.other)
	case *setStmt:
		v.expr(s.target)
		v.expr(s.val)
	case *setBlockStmt:
		v.expr(s.target)
		v.expr(s.filter)
		v.stmts(s.body)
	case *macroStmt:
		v.signature(&s.signatureNode)
	case *callStmt:
		v.expr(s.call)
		v.signature(&s.signatureNode)
	case *filterStmt:
		v.stmts(s.body)
		v.expr(s.filter)
	case *withStmt:
		v.exprs(s.targets)
		v.exprs(s.vals)
		v.stmts(s.body)
	case *autoescapeStmt:
		v.expr(s.val)
		v.stmts(s.body)
	case *blockStmt:
		v.stmts(s.body)
	case *loaderStmt:
		v.expr(s.template)
	}
}

// undeclared returns the names that statements use without declaring them first.
func undeclared(body []stmt, names ...string) map[string]bool {
	open := make(map[string]bool, len(names))
	for _, n := range names {
		open[n] = true
	}
	found := make(map[string]bool)
	v := visitor{
		name: func(e *nameExpr) {
			if len(found) == len(open) {
				return
			}
			if e.mode == modeLoad && open[e.name] {
				found[e.name] = true
			} else {
				delete(open, e.name)
			}
		},
		stmt: func(s stmt) bool { _, block := s.(*blockStmt); return !block },
	}
	v.stmts(body)
	return found
}
