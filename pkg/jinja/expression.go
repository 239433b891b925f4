package jinja

import (
	"context"
	"strings"
)

// Expression is a compiled expression: what stands between the delimiters of {{ }}, or after {% if. It is immutable and safe for
// concurrent use.
type Expression struct {
	program *Template // Without a body.
	enter   []loadOp
	value   condFn
	at      pos
}

// CompileExpression compiles an expression. An error is an *Error of KindSyntax or KindBudget.
func (e *Engine) CompileExpression(text string) (x *Expression, err error) {
	defer recoverPanic(&err)
	src, err := e.source(text)
	if err != nil {
		return nil, err
	}
	parsed, err := parseExpression(src, e.budget.Depth)
	if err != nil {
		return nil, err
	}
	c := newCompiler(e, src)
	f := cframe{sym: newSymbols(nil, &funcScope{}), toplevel: true, root: true}
	f.sym.visitExpr(parsed)
	enter := c.enter(f)
	value, err := c.cond(parsed, f)
	if err != nil {
		return nil, err
	}
	return &Expression{program: &Template{engine: e, src: src, slots: f.sym.fn.n, reads: c.reads}, enter: enter, value: value, at: parsed.at()}, nil
}

// CachedExpression is like CompileExpression, with a bounded cache of expressions by their source. It does not cache errors.
func (e *Engine) CachedExpression(text string) (*Expression, error) {
	return e.expressions.compile(text, e.CompileExpression)
}

// parseExpression returns the expression that a source consists of.
func parseExpression(src *source, maxDepth int) (expr, error) {
	text := strings.TrimSpace(src.text)
	delimited := func(err error) error {
		if strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "{%") {
			return syntaxErr(src, pos(strings.IndexByte(src.text, '{')), "%s", "An expression has no delimiters: write it without {{ }} and {% %}.")
		}
		return err
	}
	tokens, err := lexExpression(src, maxDepth)
	if err != nil {
		return nil, delimited(err)
	}
	p := &parser{src: src, tokens: tokens, max: maxDepth}
	if p.cur().kind == tokEOF {
		return nil, p.fail(p.cur().pos, "Expected an expression, got %s", reprStr(p.cur().describe()))
	}
	parsed, err := p.expression()
	if err != nil {
		return nil, delimited(err)
	}
	if t := p.cur(); t.kind != tokEOF {
		return nil, delimited(p.fail(t.pos, "chunk after expression: %s", reprStr(t.describe())))
	}
	return parsed, nil
}

// Reads reports whether the expression can read a variable of this name. A host need not create the others.
func (x *Expression) Reads(name string) bool { return x.program.Reads(name) }

// Test reports whether the value of the expression is true, as {% if %} would take it. It does not change vars. An error is an
// *Error.
func (x *Expression) Test(ctx context.Context, vars Vars) (bool, error) {
	return x.TestWithin(ctx, vars, 0, nil)
}

// TestWithin is Test with the memory of the host, as RenderWithin.
func (x *Expression) TestWithin(ctx context.Context, vars Vars, held int, memory Memory) (holds bool, err error) {
	defer recoverPanic(&err)
	e := x.program.engine
	rt := e.state(x.program, vars)
	rt.init(ctx, &e.budget, held, memory)
	if rt.bytes < 0 {
		return false, rt.charge(-1)
	}
	f := &frame{rt: rt, slots: make([]Value, x.program.slots)}
	enterScope(f, x.enter)
	if holds, err = x.value(f); err != nil {
		return false, locate(err, x.program.src, x.at)
	}
	e.recycle(rt)
	return holds, nil
}
