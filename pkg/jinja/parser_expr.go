package jinja

import "strings"

// tupleOpts is the kind of tuple to parse.
type tupleOpts struct {
	simple    bool // names and literals only
	cond      bool // conditional expressions
	parens    bool // inside of parentheses: may be empty
	namespace bool // attributes of namespaces
}

// tuple parses one expression, or several separated by commas.
func (p *parser) tuple(o tupleOpts) (expr, error) {
	at := p.cur().pos
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		if k := p.cur().kind; k == tokVarEnd || k == tokBlockEnd || k == tokRParen {
			break
		}
		var e expr
		var err error
		switch {
		case o.simple:
			e, err = p.primary(o.namespace)
		case o.cond || o.parens:
			e, err = p.expression()
		default:
			e, err = p.or()
		}
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if p.cur().kind != tokComma {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) > 0 {
			return items[0], nil
		}
		if !o.parens {
			return nil, p.fail(p.cur().pos, "Expected an expression, got %s", reprStr(p.cur().describe()))
		}
	}
	return &tupleExpr{node{at}, items}, nil
}

// expression parses any expression.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	at := p.cur().pos
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	for n := 0; p.skipName("if"); n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		c := &condExpr{node: node{at}, then: e}
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.skipName("else") {
			if c.other, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = c
	}
	return e, nil
}

// chain bounds the length of a chain of operators, which nests to the left in the tree.
func (p *parser) chain(n int) error {
	if p.depth+n/4 >= p.max {
		return locate(budgetErr("the template exceeds its nesting depth of %d", p.max), p.src, p.cur().pos)
	}
	return nil
}

func (p *parser) or() (expr, error) {
	e, err := p.and()
	for n := 0; err == nil && p.cur().isName("or"); n++ {
		at := p.next().pos
		var r expr
		if r, err = p.and(); err == nil {
			e, err = &logicExpr{node{at}, false, e, r}, p.chain(n)
		}
	}
	return e, err
}

func (p *parser) and() (expr, error) {
	e, err := p.not()
	for n := 0; err == nil && p.cur().isName("and"); n++ {
		at := p.next().pos
		var r expr
		if r, err = p.not(); err == nil {
			e, err = &logicExpr{node{at}, true, e, r}, p.chain(n)
		}
	}
	return e, err
}

func (p *parser) not() (expr, error) {
	if !p.cur().isName("not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	at := p.next().pos
	x, err := p.not()
	return &notExpr{node{at}, x}, err
}

func (p *parser) compare() (expr, error) {
	at := p.cur().pos
	x, err := p.sum()
	if err != nil {
		return nil, err
	}
	var ops []compareOp
	for {
		t := p.cur()
		op := opEq
		switch {
		case t.kind == tokEq:
		case t.kind == tokNe:
			op = opNe
		case t.kind == tokLt:
			op = opLt
		case t.kind == tokLe:
			op = opLe
		case t.kind == tokGt:
			op = opGt
		case t.kind == tokGe:
			op = opGe
		case t.isName("in"):
			op = opIn
		case t.isName("not") && p.peek().isName("in"):
			op = opNotIn
			p.next()
		default:
			if ops == nil {
				return x, nil
			}
			return &compareExpr{node{at}, x, ops}, nil
		}
		p.next()
		r, err := p.sum()
		if err != nil {
			return nil, err
		}
		ops = append(ops, compareOp{op, r})
	}
}

func (p *parser) sum() (expr, error) {
	e, err := p.concat()
	for n := 0; err == nil && (p.cur().kind == tokAdd || p.cur().kind == tokSub); n++ {
		t := p.next()
		var r expr
		if r, err = p.concat(); err == nil {
			e, err = &binExpr{node{t.pos}, t.kind, e, r}, p.chain(n)
		}
	}
	return e, err
}

func (p *parser) concat() (expr, error) {
	at := p.cur().pos
	e, err := p.product()
	if err != nil || p.cur().kind != tokTilde {
		return e, err
	}
	parts := []expr{e}
	for p.skipKind(tokTilde) {
		if e, err = p.product(); err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return &concatExpr{node{at}, parts}, nil
}

func (p *parser) product() (expr, error) {
	e, err := p.power()
	for n := 0; err == nil; n++ {
		t := *p.cur()
		if t.kind != tokMul && t.kind != tokDiv && t.kind != tokFloorDiv && t.kind != tokMod {
			break
		}
		p.next()
		var r expr
		if r, err = p.power(); err == nil {
			e, err = &binExpr{node{t.pos}, t.kind, e, r}, p.chain(n)
		}
	}
	return e, err
}

func (p *parser) power() (expr, error) {
	e, err := p.unary(true)
	for n := 0; err == nil && p.cur().kind == tokPow; n++ {
		t := p.next()
		var r expr
		if r, err = p.unary(true); err == nil {
			e, err = &binExpr{node{t.pos}, tokPow, e, r}, p.chain(n)
		}
	}
	return e, err
}

func (p *parser) unary(filters bool) (expr, error) {
	t := *p.cur()
	var e expr
	var err error
	if t.kind == tokSub || t.kind == tokAdd {
		if err := p.enter(); err != nil {
			return nil, err
		}
		p.next()
		e, err = p.unary(false)
		p.leave()
		if err == nil {
			e = &unaryExpr{node{t.pos}, t.kind, e}
		}
	} else {
		e, err = p.primary(false)
	}
	if err != nil {
		return nil, err
	}
	if e, err = p.postfix(e); err != nil || !filters {
		return e, err
	}
	return p.filterExprs(e)
}

func (p *parser) primary(namespace bool) (expr, error) {
	t := *p.cur()
	n := node{t.pos}
	switch t.kind {
	case tokName:
		p.next()
		switch t.text {
		case "true", "True":
			return &constExpr{n, valTrue}, nil
		case "false", "False":
			return &constExpr{n, valFalse}, nil
		case "none", "None":
			return &constExpr{n, None}, nil
		}
		if namespace && p.skipKind(tokDot) {
			attr, err := p.expect(tokName)
			return &nsRefExpr{n, t.text, attr.text}, err
		}
		return &nameExpr{n, t.text, modeLoad}, nil
	case tokString:
		p.next()
		text := t.text
		if p.cur().kind == tokString {
			parts := []string{text}
			for p.cur().kind == tokString {
				parts = append(parts, p.next().text)
			}
			text = strings.Join(parts, "")
		}
		return &constExpr{n, strValue(text)}, nil
	case tokInteger:
		p.next()
		if t.num != nil {
			return &constExpr{n, normBig(t.num)}, nil
		}
		return &constExpr{n, intValue(t.small)}, nil
	case tokFloat:
		p.next()
		return &constExpr{n, floatValue(t.float)}, nil
	case tokLParen:
		p.next()
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		e, err := p.tuple(tupleOpts{parens: true})
		if err != nil {
			return nil, err
		}
		_, err = p.expect(tokRParen)
		return e, err
	case tokLBracket:
		return p.list()
	case tokLBrace:
		return p.dict()
	}
	return nil, p.fail(t.pos, "unexpected %s", reprStr(t.describe()))
}

func (p *parser) list() (expr, error) {
	e := &listExpr{node: node{p.next().pos}}
	for p.cur().kind != tokRBracket {
		if len(e.items) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
			if p.cur().kind == tokRBracket {
				break
			}
		}
		it, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.items = append(e.items, it)
	}
	p.next()
	return e, nil
}

func (p *parser) dict() (expr, error) {
	e := &dictExpr{node: node{p.next().pos}}
	for p.cur().kind != tokRBrace {
		if len(e.keys) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
			if p.cur().kind == tokRBrace {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(tokColon); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.keys, e.vals = append(e.keys, k), append(e.vals, v)
	}
	p.next()
	return e, nil
}
