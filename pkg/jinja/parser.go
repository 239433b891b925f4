package jinja

import "strings"

// parser builds a syntax tree from tokens, by recursive descent with Jinja's precedences.
type parser struct {
	src    *source
	tokens []token
	at     int
	depth  int
	max    int
	// tags are the open statements; ends are the tags that can close the innermost ones.
	tags []string
	ends [][]string
}

// parse returns the statements of a template.
func parse(src *source, maxDepth int) ([]stmt, error) {
	tokens, err := lex(src, maxDepth)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, tokens: tokens, max: maxDepth}
	return p.statements(nil)
}

func (p *parser) cur() *token  { return &p.tokens[p.at] }
func (p *parser) peek() *token { return &p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

func (p *parser) skipKind(k tokenKind) bool {
	if p.cur().kind == k {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(w string) bool {
	if p.cur().isName(w) {
		p.next()
		return true
	}
	return false
}

func (p *parser) fail(at pos, format string, args ...any) error {
	return syntaxErr(p.src, at, format, args...)
}

func (p *parser) expect(k tokenKind) (token, error) {
	t := p.cur()
	if t.kind == k {
		return p.next(), nil
	}
	if t.kind == tokEOF {
		return *t, p.fail(t.pos, "unexpected end of template, expected '%s'.", tokenNames[k])
	}
	return *t, p.fail(t.pos, "expected token '%s', got %s", tokenNames[k], reprStr(t.describe()))
}

func (p *parser) expectName(w string) error {
	t := p.cur()
	if t.isName(w) {
		p.next()
		return nil
	}
	if t.kind == tokEOF {
		return p.fail(t.pos, "unexpected end of template, expected '%s'.", w)
	}
	return p.fail(t.pos, "expected token '%s', got %s", w, reprStr(t.describe()))
}

// enter enters a level of syntax. The caller leaves it again.
func (p *parser) enter() error {
	if p.depth >= p.max {
		return locate(budgetErr("the template exceeds its nesting depth of %d", p.max), p.src, p.cur().pos)
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

// statements parses up to a tag in ends, whose name is then the current token, or to the end of the template.
func (p *parser) statements(ends []string) ([]stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if ends != nil {
		p.ends = append(p.ends, ends)
		defer func() { p.ends = p.ends[:len(p.ends)-1] }()
	}
	var body []stmt
	var out *outputStmt
	add := func(e expr) {
		if out == nil {
			out = &outputStmt{node: node{e.at()}}
			body = append(body, out)
		}
		out.items = append(out.items, e)
	}
	for {
		t := p.cur()
		switch t.kind {
		case tokEOF:
			return body, nil
		case tokData:
			add(&dataExpr{node{t.pos}, t.text})
			p.next()
		case tokVarBegin:
			p.next()
			e, err := p.tuple(tupleOpts{cond: true})
			if err != nil {
				return nil, err
			}
			add(e)
			if _, err := p.expect(tokVarEnd); err != nil {
				return nil, err
			}
		case tokBlockBegin:
			p.next()
			out = nil
			for _, w := range ends {
				if p.cur().isName(w) {
					return body, nil
				}
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			body = append(body, s)
			if _, err := p.expect(tokBlockEnd); err != nil {
				return nil, err
			}
		default:
			return nil, p.fail(t.pos, "unexpected %s", reprStr(t.describe()))
		}
	}
}

// block parses the body of a statement: the end of its tag and everything up to a tag in ends.
func (p *parser) block(ends ...string) ([]stmt, error) {
	p.skipKind(tokColon)
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	body, err := p.statements(ends)
	if err != nil {
		return nil, err
	}
	if p.cur().kind == tokEOF {
		p.ends = append(p.ends, ends)
		return nil, p.failUnclosed("", p.cur().pos)
	}
	return body, nil
}

// lastBlock parses the last body of a statement and skips the tag name that ends it.
func (p *parser) lastBlock(end string) ([]stmt, error) {
	body, err := p.block(end)
	if err == nil {
		p.next()
	}
	return body, err
}

// failUnclosed returns the error for an unknown tag, or for the end of the template if tag is empty.
func (p *parser) failUnclosed(tag string, at pos) error {
	var msg []string
	if tag == "" {
		msg = append(msg, "Unexpected end of template.")
	} else {
		msg = append(msg, "Encountered unknown tag "+reprStr(tag)+".")
	}
	if n := len(p.ends); n > 0 {
		looking := "'" + strings.Join(p.ends[n-1], "' or '") + "'"
		nested := false
		for _, ends := range p.ends {
			for _, w := range ends {
				nested = nested || w == tag && tag != ""
			}
		}
		if nested {
			msg = append(msg, "You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for "+looking+".")
		} else {
			msg = append(msg, "Jinja was looking for the following tags: "+looking+".")
		}
	}
	if n := len(p.tags); n > 0 {
		msg = append(msg, "The innermost block that needs to be closed is "+reprStr(p.tags[n-1])+".")
	}
	return p.fail(at, "%s", strings.Join(msg, " "))
}
