package jinja

// Scopes follow Jinja's rules, which are those of its generated Python functions. The template, each block, each macro and each
// recursive loop is a function with its own slots. Other scopes (loop bodies, with, set blocks, filter blocks) use the slots of
// their function, one slot per level and name. They copy an outer name's value when they assign to it.

// funcScope is the layout of one activation's slots.
type funcScope struct {
	parent *funcScope
	slots  map[slotKey]*variable
	n      int
}

type slotKey struct {
	level int
	name  string
}

// variable is a slot of a function.
type variable struct {
	fn  *funcScope
	idx int
}

func (f *funcScope) slot(level int, name string) *variable {
	k := slotKey{level, name}
	if v, ok := f.slots[k]; ok {
		return v
	}
	if f.slots == nil {
		f.slots = make(map[slotKey]*variable)
	}
	v := &variable{f, f.n}
	f.n++
	f.slots[k] = v
	return v
}

// loadKind is the value of a variable on entering its scope.
type loadKind uint8

const (
	loadParam     loadKind = iota // given by the caller
	loadResolve                   // looked up in the context
	loadAlias                     // the value of an outer variable
	loadUndefined                 // nothing yet
)

type load struct {
	kind loadKind
	name string    // loadResolve
	from *variable // loadAlias
}

// symbols are the names of one scope.
type symbols struct {
	fn     *funcScope
	level  int
	parent *symbols
	// base is the scope below this layer inside a branch of an if statement, else nil.
	base  *symbols
	refs  map[string]*variable
	loads map[*variable]load
	// order keeps loads in the order of definition.
	order  []*variable
	stores map[string]bool
}

func newSymbols(parent *symbols, fn *funcScope) *symbols {
	s := &symbols{fn: fn, parent: parent}
	if parent != nil {
		s.level = parent.level + 1
	}
	return s
}

func (s *symbols) setLoad(v *variable, l load) {
	if s.loads == nil {
		s.loads = make(map[*variable]load)
	}
	if _, ok := s.loads[v]; !ok {
		s.order = append(s.order, v)
	}
	s.loads[v] = l
}

func (s *symbols) define(name string, l load) *variable {
	v := s.fn.slot(s.level, name)
	if s.refs == nil {
		s.refs = make(map[string]*variable)
	}
	s.refs[name] = v
	s.setLoad(v, l)
	return v
}

func (s *symbols) find(name string) *variable {
	for ; s != nil; s = s.parent {
		if v := s.own(name); v != nil {
			return v
		}
	}
	return nil
}

func (s *symbols) markStored(name string) {
	if s.stores == nil {
		s.stores = make(map[string]bool)
	}
	s.stores[name] = true
}

func (s *symbols) param(name string) *variable {
	s.markStored(name)
	return s.define(name, load{kind: loadParam})
}

func (s *symbols) store(name string) {
	s.markStored(name)
	if s.own(name) != nil {
		return
	}
	if outer := s.parent.find(name); outer != nil {
		s.define(name, load{kind: loadAlias, from: outer})
		return
	}
	s.define(name, load{kind: loadUndefined})
}

func (s *symbols) load(name string) {
	if s.find(name) == nil {
		s.define(name, load{kind: loadResolve, name: name})
	}
}

// branch returns a layer over s for the definitions of a branch of an if statement.
func (s *symbols) branch() *symbols {
	return &symbols{fn: s.fn, level: s.level, parent: s.parent, base: s}
}

// own returns a name of this scope, including its layers.
func (s *symbols) own(name string) *variable {
	for ; s != nil; s = s.base {
		if v, ok := s.refs[name]; ok {
			return v
		}
	}
	return nil
}

func (s *symbols) isStored(name string) bool {
	for ; s != nil; s = s.base {
		if s.stores[name] {
			return true
		}
	}
	return false
}

// merge joins the definitions of the branches of an if statement. A name that only some of them store is resolved before the
// statement, so the other branches have its value.
func (s *symbols) merge(branches []*symbols) {
	var stored []string
	for _, b := range branches {
		for name := range b.stores {
			if !s.isStored(name) {
				stored = append(stored, name)
			}
		}
	}
	for _, b := range branches {
		for name, v := range b.refs {
			if s.refs == nil {
				s.refs = make(map[string]*variable)
			}
			s.refs[name] = v
		}
		for _, v := range b.order {
			s.setLoad(v, b.loads[v])
		}
		for name := range b.stores {
			s.markStored(name)
		}
	}
	for _, name := range stored {
		v := s.find(name)
		if outer := s.parent.find(name); outer != nil {
			s.setLoad(v, load{kind: loadAlias, from: outer})
			continue
		}
		s.setLoad(v, load{kind: loadResolve, name: name})
	}
}

// visitStmts records the names that statements use in this scope. Statements with their own scope contribute only the
// expressions evaluated outside it.
func (s *symbols) visitStmts(body []stmt) {
	for _, st := range body {
		s.visitStmt(st)
	}
}

func (s *symbols) visitStmt(st stmt) {
	switch st := st.(type) {
	case *outputStmt:
		s.visitExprs(st.items)
	case *ifStmt:
		s.visitIf(st)
	case *forStmt:
		s.visitExpr(st.iter)
	case *setStmt:
		s.visitExpr(st.val)
		s.visitExpr(st.target)
	case *setBlockStmt:
		s.visitExpr(st.target)
	case *macroStmt:
		s.store(st.name)
	case *callStmt:
		s.visitExpr(st.call)
	case *filterStmt:
		s.visitExpr(st.filter)
	case *withStmt:
		s.visitExprs(st.vals)
	case *loaderStmt:
		s.visitExpr(st.template)
		for _, name := range st.names {
			s.store(name)
		}
	case *autoescapeStmt, *blockStmt:
	}
}

func (s *symbols) visitIf(st *ifStmt) {
	s.visitExpr(st.test)
	branch := func(visit func(*symbols)) *symbols {
		c := s.branch()
		visit(c)
		return c
	}
	body := branch(func(c *symbols) { c.visitStmts(st.body) })
	elifs := branch(func(c *symbols) {
		for _, e := range st.elifs {
			c.visitIf(e)
		}
	})
	other := branch(func(c *symbols) { c.visitStmts(st.other) })
	s.merge([]*symbols{body, elifs, other})
}

func (s *symbols) visitExprs(es []expr) {
	for _, e := range es {
		s.visitExpr(e)
	}
}

func (s *symbols) visitExpr(e expr) {
	switch e := e.(type) {
	case nil:
	case *nameExpr:
		switch e.mode {
		case modeLoad:
			s.load(e.name)
		case modeStore:
			s.store(e.name)
		default:
			s.param(e.name)
		}
	case *nsRefExpr:
		s.load(e.name)
	default:
		children(e, s.visitExpr)
	}
}

// visitTarget declares the names of a loop's target as parameters.
func (s *symbols) visitTarget(e expr) {
	switch e := e.(type) {
	case *nameExpr:
		s.param(e.name)
	case *tupleExpr:
		for _, it := range e.items {
			s.visitTarget(it)
		}
	}
}
