package jinja

import "strings"

// statement parses a statement. The current token is its tag name.
func (p *parser) statement() (stmt, error) {
	t := *p.cur()
	if t.kind != tokName {
		return nil, p.fail(t.pos, "tag name expected")
	}
	parse := p.statementParser(t.text)
	if parse == nil {
		return nil, p.failUnclosed(t.text, t.pos)
	}
	p.tags = append(p.tags, t.text)
	p.next()
	s, err := parse(node{t.pos})
	if err == nil {
		p.tags = p.tags[:len(p.tags)-1]
	}
	return s, err
}

func (p *parser) statementParser(tag string) func(node) (stmt, error) {
	switch tag {
	case "for":
		return p.parseFor
	case "if":
		return p.parseIf
	case "set":
		return p.parseSet
	case "block":
		return p.parseBlock
	case "extends", "include", "import", "from":
		return func(n node) (stmt, error) { return p.parseLoader(n, tag) }
	case "print":
		return p.parsePrint
	case "macro":
		return p.parseMacro
	case "with":
		return p.parseWith
	case "autoescape":
		return p.parseAutoescape
	case "call":
		return p.parseCallBlock
	case "filter":
		return p.parseFilterBlock
	}
	return nil
}

func (p *parser) parseFor(n node) (stmt, error) {
	s := &forStmt{node: n}
	var err error
	if s.target, err = p.target(tupleOpts{}); err != nil {
		return nil, err
	}
	if err = p.expectName("in"); err != nil {
		return nil, err
	}
	if s.iter, err = p.tuple(tupleOpts{}); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if s.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	s.recursive = p.skipName("recursive")
	if s.body, err = p.block("endfor", "else"); err != nil {
		return nil, err
	}
	if p.next().text == "else" {
		if s.other, err = p.lastBlock("endfor"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (p *parser) parseIf(n node) (stmt, error) {
	first := &ifStmt{node: n}
	cur := first
	for {
		var err error
		if cur.test, err = p.tuple(tupleOpts{}); err != nil {
			return nil, err
		}
		if cur.body, err = p.block("elif", "else", "endif"); err != nil {
			return nil, err
		}
		t := p.next()
		if t.text == "elif" {
			cur = &ifStmt{node: node{t.pos}}
			first.elifs = append(first.elifs, cur)
			continue
		}
		if t.text == "else" {
			if first.other, err = p.lastBlock("endif"); err != nil {
				return nil, err
			}
		}
		return first, nil
	}
}

func (p *parser) parseSet(n node) (stmt, error) {
	target, err := p.target(tupleOpts{namespace: true})
	if err != nil {
		return nil, err
	}
	if p.skipKind(tokAssign) {
		val, err := p.tuple(tupleOpts{cond: true})
		if err != nil {
			return nil, err
		}
		return &setStmt{n, target, val}, nil
	}
	s := &setBlockStmt{node: n, target: target}
	if s.filter, err = p.filters(nil, false); err != nil {
		return nil, err
	}
	s.body, err = p.lastBlock("endset")
	return s, err
}

func (p *parser) parseBlock(n node) (stmt, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	s := &blockStmt{node: n, name: t.text}
	s.scoped = p.skipName("scoped")
	s.required = p.skipName("required")
	if p.cur().kind == tokSub {
		return nil, p.fail(p.cur().pos, "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.")
	}
	if s.body, err = p.lastBlock("endblock"); err != nil {
		return nil, err
	}
	if s.required && !onlySpace(s.body) {
		return nil, p.fail(n.pos, "Required blocks can only contain comments or whitespace")
	}
	p.skipName(s.name)
	return s, nil
}

func onlySpace(body []stmt) bool {
	for _, s := range body {
		out, ok := s.(*outputStmt)
		if !ok {
			return false
		}
		for _, e := range out.items {
			d, ok := e.(*dataExpr)
			if !ok || strings.TrimFunc(d.text, isSpace) != "" {
				return false
			}
		}
	}
	return true
}

// parseLoader parses the statements that need other templates.
func (p *parser) parseLoader(n node, tag string) (stmt, error) {
	s := &loaderStmt{node: n, tag: tag}
	var err error
	if s.template, err = p.expression(); err != nil {
		return nil, err
	}
	switch tag {
	case "include":
		if p.cur().isName("ignore") && p.peek().isName("missing") {
			s.ignoreMissing = true
			p.next()
			p.next()
		}
		p.importContext()
	case "import":
		if err := p.expectName("as"); err != nil {
			return nil, err
		}
		name, err := p.nameTarget()
		if err != nil {
			return nil, err
		}
		s.names = []string{name.name}
		p.importContext()
	case "from":
		if err := p.importNames(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (p *parser) importContext() bool {
	if (p.cur().isName("with") || p.cur().isName("without")) && p.peek().isName("context") {
		p.next()
		p.next()
		return true
	}
	return false
}

func (p *parser) importNames(s *loaderStmt) error {
	if err := p.expectName("import"); err != nil {
		return err
	}
	for {
		if len(s.names) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return err
			}
		}
		if p.cur().kind != tokName {
			_, err := p.expect(tokName)
			return err
		}
		if p.importContext() {
			return nil
		}
		name, err := p.nameTarget()
		if err != nil {
			return err
		}
		if strings.HasPrefix(name.name, "_") {
			return p.fail(name.pos, "names starting with an underline can not be imported")
		}
		if p.skipName("as") {
			if name, err = p.nameTarget(); err != nil {
				return err
			}
		}
		s.names = append(s.names, name.name)
		if p.importContext() || p.cur().kind != tokComma {
			return nil
		}
	}
}

func (p *parser) parsePrint(n node) (stmt, error) {
	s := &outputStmt{node: n}
	for p.cur().kind != tokBlockEnd {
		if len(s.items) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, e)
	}
	return s, nil
}

func (p *parser) parseMacro(n node) (stmt, error) {
	name, err := p.nameTarget()
	if err != nil {
		return nil, err
	}
	s := &macroStmt{node: n, name: name.name}
	if err := p.signature(&s.signatureNode); err != nil {
		return nil, err
	}
	s.body, err = p.lastBlock("endmacro")
	return s, err
}

func (p *parser) signature(s *signatureNode) error {
	if _, err := p.expect(tokLParen); err != nil {
		return err
	}
	for p.cur().kind != tokRParen {
		if len(s.params) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return err
			}
		}
		name, err := p.nameTarget()
		if err != nil {
			return err
		}
		name.mode = modeParam
		for _, other := range s.params {
			if other.name == name.name {
				return p.fail(name.pos, "duplicate argument '%s' in function definition", name.name)
			}
		}
		if p.skipKind(tokAssign) {
			e, err := p.expression()
			if err != nil {
				return err
			}
			s.defaults = append(s.defaults, e)
		} else if len(s.defaults) > 0 {
			return p.fail(p.cur().pos, "non-default argument follows default argument")
		}
		s.params = append(s.params, name)
	}
	p.next()
	return nil
}

func (p *parser) parseCallBlock(n node) (stmt, error) {
	s := &callStmt{node: n}
	if p.cur().kind == tokLParen {
		if err := p.signature(&s.signatureNode); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := e.(*callExpr)
	if !ok {
		return nil, p.fail(n.pos, "expected call")
	}
	s.call = call
	s.body, err = p.lastBlock("endcall")
	return s, err
}

func (p *parser) parseFilterBlock(n node) (stmt, error) {
	s := &filterStmt{node: n}
	var err error
	if s.filter, err = p.filters(nil, true); err != nil {
		return nil, err
	}
	s.body, err = p.lastBlock("endfilter")
	return s, err
}

func (p *parser) parseWith(n node) (stmt, error) {
	s := &withStmt{node: n}
	for p.cur().kind != tokBlockEnd {
		if len(s.targets) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		target, err := p.target(tupleOpts{})
		if err != nil {
			return nil, err
		}
		setMode(target, modeParam)
		if _, err := p.expect(tokAssign); err != nil {
			return nil, err
		}
		val, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets, s.vals = append(s.targets, target), append(s.vals, val)
	}
	var err error
	s.body, err = p.lastBlock("endwith")
	return s, err
}

func (p *parser) parseAutoescape(n node) (stmt, error) {
	val, err := p.expression()
	if err != nil {
		return nil, err
	}
	s := &autoescapeStmt{node: n, val: val}
	s.body, err = p.lastBlock("endautoescape")
	return s, err
}

// target parses the target of an assignment: a name, an attribute of a namespace, or a tuple of these.
func (p *parser) target(o tupleOpts) (expr, error) {
	at := p.cur().pos
	o.simple = true
	e, err := p.tuple(o)
	if err != nil {
		return nil, err
	}
	setMode(e, modeStore)
	if what := assignable(e); what != "" {
		return nil, p.fail(at, "can't assign to '%s'", what)
	}
	return e, nil
}

func (p *parser) nameTarget() (*nameExpr, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	e := &nameExpr{node{t.pos}, t.text, modeStore}
	if what := assignable(e); what != "" {
		return nil, p.fail(t.pos, "can't assign to '%s'", what)
	}
	return e, nil
}

// setMode sets the mode of the names in a target.
func setMode(e expr, m nameMode) {
	switch e := e.(type) {
	case *nameExpr:
		e.mode = m
	case *tupleExpr:
		for _, it := range e.items {
			setMode(it, m)
		}
	}
}

// assignable describes the expression in e that cannot be assigned to. It returns "" if there is none.
func assignable(e expr) string {
	switch e := e.(type) {
	case *nameExpr:
		switch e.name {
		case "true", "false", "none", "True", "False", "None":
			return "name"
		}
		return ""
	case *nsRefExpr:
		return ""
	case *tupleExpr:
		for _, it := range e.items {
			if assignable(it) != "" {
				return "tuple"
			}
		}
		return ""
	case *constExpr:
		return "const"
	case *listExpr:
		return "list"
	case *dictExpr:
		return "dict"
	}
	return "expression"
}
