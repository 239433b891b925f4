package jinja

import "strconv"

// state is the state of one rendering. One goroutine owns it.
type state struct {
	meter
	engine *Engine
	tpl    *Template
	vars   Vars
	out    *buffer
	// autoescape is the flag of the evaluation context, which {% autoescape %} changes.
	autoescape bool
	free       []*buffer
	scratch    []byte // of tojson
	argv       []Value
	iters      int // nesting of values being printed, compared or encoded
}

// scopeContext is searched for names before the variables of Render: the exported names of the template, or the local names of
// a scoped block.
type scopeContext struct {
	parent *scopeContext
	vars   map[string]Value
}

// frame is one activation of a function scope.
type frame struct {
	rt     *state
	parent *frame
	slots  []Value
	ctx    *scopeContext
}

// resolve looks a name up in the context, or nil if it is missing.
func (f *frame) resolve(name string) Value {
	for c := f.ctx; c != nil; c = c.parent {
		if v, ok := c.vars[name]; ok {
			return v
		}
	}
	if v, ok := f.rt.vars[name]; ok {
		return v
	}
	return f.rt.engine.globals[name]
}

// buffer collects output.
type buffer struct {
	b []byte
	// limit bounds the length. Only the outermost buffer has one.
	limit int
	// bad is the error of a written value that is not text. It is returned when the buffer is joined.
	bad error
}

// room grows the buffer for n more bytes if necessary, and charges for that.
func (rt *state) room(n int) error {
	o := rt.out
	if n > o.limit-len(o.b) {
		return budgetErr("the output exceeds its budget of %d bytes", o.limit)
	}
	if need := len(o.b) + n; need > cap(o.b) {
		size := max(need, 2*cap(o.b), 256)
		if err := rt.charge(size); err != nil {
			return err
		}
		b := make([]byte, len(o.b), size)
		copy(b, o.b)
		o.b = b
	}
	return nil
}

func (rt *state) write(s string) error {
	if err := rt.room(len(s)); err != nil {
		return err
	}
	rt.out.b = append(rt.out.b, s...)
	return nil
}

// capture runs f with its own buffer and returns the text.
func (rt *state) capture(f func() error) (string, error) {
	var o *buffer
	if n := len(rt.free); n > 0 {
		o, rt.free = rt.free[n-1], rt.free[:n-1]
	} else {
		o = &buffer{limit: int(unlimited)}
	}
	outer := rt.out
	rt.out = o
	err := f()
	rt.out = outer
	if err == nil {
		err = o.bad
	}
	if err == nil {
		err = rt.charge(len(o.b))
	}
	if err != nil {
		return "", err
	}
	text := string(o.b)
	o.b = o.b[:0]
	rt.free = append(rt.free, o)
	return text, nil
}

// print writes a value as {{ }} does.
func (rt *state) print(v Value, escape bool) error {
	switch v := v.(type) {
	case markupValue:
		return rt.write(string(v))
	case strValue:
		if escape {
			return rt.writeEscaped(string(v))
		}
		return rt.write(string(v))
	case intValue:
		if err := rt.room(20); err != nil {
			return rt.write(strconv.FormatInt(int64(v), 10))
		}
		rt.out.b = strconv.AppendInt(rt.out.b, int64(v), 10)
		return nil
	case *undefinedValue:
		if v.mode != Strict {
			return nil
		}
	}
	s, err := rt.str(v)
	if err != nil {
		return err
	}
	if escape {
		return rt.writeEscaped(s)
	}
	return rt.write(s)
}

func (rt *state) writeEscaped(s string) error {
	e, err := rt.escapeText(s)
	if err != nil {
		return err
	}
	return rt.write(e)
}

// args returns n slots of the argument stack. The caller frees them by passing mark to release. The callee must not retain
// them.
func (rt *state) args(n int) (a []Value, mark int) {
	mark = len(rt.argv)
	if mark+n > cap(rt.argv) {
		return make([]Value, n), mark
	}
	rt.argv = rt.argv[:mark+n]
	a = rt.argv[mark : mark+n : mark+n]
	clear(a)
	return a, mark
}

func (rt *state) release(mark int) { rt.argv = rt.argv[:mark] }

// nest guards recursion over nested values.
func (rt *state) nest() error {
	if rt.iters >= maxValueDepth {
		return budgetErr("a value is nested deeper than %d levels", maxValueDepth)
	}
	rt.iters++
	return rt.step()
}

func (rt *state) unnest() { rt.iters-- }

// maxValueDepth is the maximum nesting of lists and dicts in printing, comparing and encoding.
const maxValueDepth = 900
