package jinja

import (
	"context"
	"fmt"
)

// Template is a compiled template: an immutable program that is safe for concurrent use.
type Template struct {
	engine *Engine
	src    *source
	slots  int
	body   []execFn
	blocks map[string]*blockProgram
	reads  map[string]bool
	// usesContext is set if assignments must reach the context, because blocks read them there.
	usesContext bool
}

// blockProgram is a {% block %}.
type blockProgram struct {
	name  string
	slots int
	enter []loadOp
	body  []execFn
	// self and super are the slots of these names, or -1 if unused.
	self, super int
}

// Reads reports whether the template can read a variable of this name. A host need not create the others.
func (t *Template) Reads(name string) bool { return t.reads[name] }

// Render runs the template with vars, which it does not change, and returns the output. An error is an *Error.
func (t *Template) Render(ctx context.Context, vars Vars) (out string, err error) {
	return t.RenderWithin(ctx, vars, 0, nil)
}

// RenderWithin is Render with the memory of the host. The bytes that the variables hold count against the budget; the host has
// charged them. A nil memory has no bound.
func (t *Template) RenderWithin(ctx context.Context, vars Vars, held int, memory Memory) (out string, err error) {
	defer recoverPanic(&err)
	rt := t.engine.state(t, vars)
	rt.init(ctx, &t.engine.budget, held, memory)
	if rt.bytes < 0 {
		return "", rt.charge(-1)
	}
	if out, err = rt.render(); err != nil {
		return "", err
	}
	t.engine.recycle(rt)
	return out, nil
}

// render runs the template of a new state.
func (rt *state) render() (string, error) {
	f := &frame{rt: rt, slots: make([]Value, rt.tpl.slots)}
	if rt.tpl.usesContext {
		f.ctx = &scopeContext{vars: make(map[string]Value)}
	}
	if err := run(f, rt.tpl.body); err != nil {
		return "", err
	}
	if rt.out.bad != nil {
		return "", rt.out.bad
	}
	return string(rt.out.b), nil
}

// state returns a pooled state, or a new one.
func (e *Engine) state(t *Template, vars Vars) *state {
	rt, _ := e.states.Get().(*state)
	if rt == nil {
		rt = &state{engine: e, out: &buffer{b: make([]byte, 0, 1024)}, argv: make([]Value, 0, argStack), scratch: make([]byte, 0, 512)}
	}
	rt.tpl, rt.vars, rt.autoescape = t, vars, e.autoescape
	rt.out.limit = e.budget.OutputBytes
	return rt
}

// argStack is the number of argument slots of a state.
const argStack = 64

// maxRecycled is the capacity, in bytes, of the largest buffer that a pooled state retains.
const maxRecycled = 64 << 10

// recycle returns a state to the pool without any data of the rendering. Only a successful rendering recycles its state.
func (e *Engine) recycle(rt *state) {
	if cap(rt.out.b) > maxRecycled || len(rt.free) > 4 {
		return
	}
	for _, b := range rt.free {
		if cap(b.b) > maxRecycled {
			return
		}
	}
	argv := rt.argv[:cap(rt.argv)]
	clear(argv)
	rt.out.b = rt.out.b[:0]
	*rt = state{engine: e, out: rt.out, argv: argv[:0], free: rt.free, scratch: rt.scratch}
	e.states.Put(rt)
}

// recoverPanic converts a panic, which is a bug in the engine, to an error.
func recoverPanic(err *error) {
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
