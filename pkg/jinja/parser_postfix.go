package jinja

import "strings"

// postfix parses attributes, items and calls after an expression.
func (p *parser) postfix(e expr) (expr, error) {
	for n := 0; ; n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		var err error
		switch p.cur().kind {
		case tokDot:
			e, err = p.attribute(e)
		case tokLBracket:
			e, err = p.subscript(e)
		case tokLParen:
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filterExprs parses filters, tests and calls after an expression.
func (p *parser) filterExprs(e expr) (expr, error) {
	for n := 0; ; n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		var err error
		switch t := p.cur(); {
		case t.kind == tokPipe:
			var f *filterExpr
			if f, err = p.filters(e, false); err == nil {
				e = f
			}
		case t.isName("is"):
			e, err = p.test(e)
		case t.kind == tokLParen:
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) attribute(obj expr) (expr, error) {
	p.next()
	t := p.next()
	switch t.kind {
	case tokName:
		return &attrExpr{node{t.pos}, obj, t.text}, nil
	case tokInteger:
		var key Value = intValue(t.small)
		if t.num != nil {
			key = normBig(t.num)
		}
		return &itemExpr{node{t.pos}, obj, &constExpr{node{t.pos}, key}}, nil
	}
	return nil, p.fail(t.pos, "expected name or number")
}

func (p *parser) subscript(obj expr) (expr, error) {
	at := p.next().pos
	var args []expr
	sliced := false
	for p.cur().kind != tokRBracket {
		if len(args) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		a, err := p.subscribed()
		if err != nil {
			return nil, err
		}
		_, isSlice := a.(*sliceExpr)
		sliced = sliced || isSlice
		args = append(args, a)
	}
	p.next()
	if len(args) == 1 {
		return &itemExpr{node{at}, obj, args[0]}, nil
	}
	if sliced {
		return nil, p.fail(at, "invalid syntax")
	}
	return &itemExpr{node{at}, obj, &tupleExpr{node{at}, args}}, nil
}

// subscribed parses the content of brackets: an expression or a slice.
func (p *parser) subscribed() (expr, error) {
	s := &sliceExpr{node: node{p.cur().pos}}
	var err error
	if p.cur().kind != tokColon {
		if s.start, err = p.expression(); err != nil {
			return nil, err
		}
		if p.cur().kind != tokColon {
			return s.start, nil
		}
	}
	p.next()
	ends := func() bool {
		k := p.cur().kind
		return k == tokRBracket || k == tokComma
	}
	if p.cur().kind != tokColon && !ends() {
		if s.stop, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.skipKind(tokColon) && !ends() {
		s.step, err = p.expression()
	}
	return s, err
}

func (p *parser) call(fn expr) (expr, error) {
	e := &callExpr{node: node{p.cur().pos}, fn: fn}
	var err error
	e.args, err = p.arguments()
	return e, err
}

func (p *parser) arguments() (arguments, error) {
	var a arguments
	open := p.next()
	bad := func() (arguments, error) {
		return a, p.fail(open.pos, "invalid syntax for function call expression")
	}
	for comma := false; p.cur().kind != tokRParen; comma = true {
		if comma {
			if _, err := p.expect(tokComma); err != nil {
				return a, err
			}
			if p.cur().kind == tokRParen {
				break
			}
		}
		var err error
		switch t := p.cur(); {
		case t.kind == tokMul:
			if a.star != nil || a.dict != nil {
				return bad()
			}
			p.next()
			a.star, err = p.expression()
		case t.kind == tokPow:
			if a.dict != nil {
				return bad()
			}
			p.next()
			a.dict, err = p.expression()
		case t.kind == tokName && p.peek().kind == tokAssign:
			if a.dict != nil {
				return bad()
			}
			k := keyword{name: t.text}
			for _, other := range a.kw {
				if other.name == k.name {
					return a, p.fail(t.pos, "keyword argument repeated: %s", k.name)
				}
			}
			p.next()
			p.next()
			k.val, err = p.expression()
			a.kw = append(a.kw, k)
		default:
			if a.star != nil || a.dict != nil || len(a.kw) > 0 {
				return bad()
			}
			var e expr
			e, err = p.expression()
			a.pos = append(a.pos, e)
		}
		if err != nil {
			return a, err
		}
	}
	p.next()
	return a, nil
}

// filters parses a chain of filters on e. inline means that the first one has no pipe before it.
func (p *parser) filters(e expr, inline bool) (*filterExpr, error) {
	var f *filterExpr
	for n := 0; inline || p.cur().kind == tokPipe; n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		if !inline {
			p.next()
		}
		inline = false
		t, err := p.expect(tokName)
		if err != nil {
			return nil, err
		}
		f = &filterExpr{node: node{t.pos}, val: e}
		if f.name, err = p.dottedName(t.text); err != nil {
			return nil, err
		}
		if p.cur().kind == tokLParen {
			if f.args, err = p.arguments(); err != nil {
				return nil, err
			}
		}
		e = f
	}
	return f, nil
}

func (p *parser) dottedName(name string) (string, error) {
	if p.cur().kind != tokDot {
		return name, nil
	}
	parts := []string{name}
	for p.skipKind(tokDot) {
		t, err := p.expect(tokName)
		if err != nil {
			return "", err
		}
		parts = append(parts, t.text)
	}
	return strings.Join(parts, "."), nil
}

func (p *parser) test(val expr) (expr, error) {
	at := p.next().pos
	negated := p.skipName("not")
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	e := &testExpr{node: node{at}, val: val}
	if e.name, err = p.dottedName(t.text); err != nil {
		return nil, err
	}
	switch t := p.cur(); t.kind {
	case tokLParen:
		if e.args, err = p.arguments(); err != nil {
			return nil, err
		}
	case tokName, tokString, tokInteger, tokFloat, tokLBracket, tokLBrace:
		if t.isName("else") || t.isName("or") || t.isName("and") {
			break
		}
		if t.isName("is") {
			return nil, p.fail(t.pos, "You cannot chain multiple tests with is")
		}
		arg, err := p.primary(false)
		if err != nil {
			return nil, err
		}
		if arg, err = p.postfix(arg); err != nil {
			return nil, err
		}
		e.args.pos = []expr{arg}
	}
	if negated {
		return &notExpr{node{at}, e}, nil
	}
	return e, nil
}
