package jinja

import (
	"context"
	"fmt"
)

// Template is a compiled template: an immutable program that several goroutines may run at once.
type Template struct {
	engine *Engine
	src    *source
	slots  int
	body   []execFn
	blocks map[string]*blockProgram
	// usesContext is set when assignments must reach the context, because blocks read them there.
	usesContext bool
}

// blockProgram is a {% block %}.
type blockProgram struct {
	name  string
	slots int
	enter []loadOp
	body  []execFn
	// self and super are the slots of these names, -1 when they are not used.
	self, super int
}

// Render runs the template with vars, which it does not change, and returns its output.
// The error, if any, is an *Error.
func (t *Template) Render(ctx context.Context, vars Vars) (out string, err error) {
	defer lastNet(&err)
	rt := &state{
		engine: t.engine, tpl: t, vars: vars, autoescape: t.engine.autoescape,
		out: &buffer{limit: t.engine.budget.OutputBytes, b: make([]byte, 0, len(t.src.text)+len(t.src.text)/2)},
	}
	rt.init(ctx, &t.engine.budget)
	f := &frame{rt: rt, slots: make([]Value, t.slots), ctx: nil}
	if t.usesContext {
		f.ctx = &scopeContext{vars: make(map[string]Value)}
	}
	if err := run(f, t.body); err != nil {
		return "", err
	}
	if rt.out.bad != nil {
		return "", rt.out.bad
	}
	return string(rt.out.b), nil
}

// lastNet turns a panic, which would be a fault of the engine, into an error.
func lastNet(err *error) {
	if r := recover(); r != nil {
		*err = otherErr("InternalError", "%s", fmt.Sprint("the engine failed: ", r))
	}
}

type (
	evalFn func(*frame) (Value, error)
	execFn func(*frame) error
)

func run(f *frame, body []execFn) error {
	for _, s := range body {
		if err := s(f); err != nil {
			return err
		}
	}
	return nil
}

// renderBlock runs a block in a context.
func (rt *state) renderBlock(b *blockProgram, ctx, root *scopeContext) error {
	if err := rt.enter(); err != nil {
		return err
	}
	defer rt.leave()
	f := &frame{rt: rt, slots: make([]Value, b.slots), ctx: ctx}
	if b.self >= 0 {
		f.slots[b.self] = &selfValue{ctx: root}
	}
	if b.super >= 0 {
		f.slots[b.super] = &undefinedValue{
			mode: rt.engine.undefined, name: strValue("super"),
			hint: "there is no parent block called " + reprStr(b.name) + ".",
		}
	}
	enterScope(f, b.enter)
	return run(f, b.body)
}
