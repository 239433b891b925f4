package jinja

import "strings"

// builtin is a filter, a test, a function or a method with a Python signature.
type builtin struct {
	// name is the function's name in messages.
	name   string
	params []param
	// fn receives one value per parameter, nil for an omitted one. It must not retain the slice.
	fn func(rt *state, a []Value) (Value, error)
	// raw, if set, receives all arguments unbound instead.
	raw func(rt *state, args callArgs) (Value, error)
}

type param struct {
	name     string
	optional bool
	// posOnly is the number of parameters that cannot be passed by name.
	posOnly bool
}

// define returns a builtin with a signature: parameters separated by spaces. Parameters that end in "=" are optional; parameters before "/" are positional only.
func define(name, signature string, fn func(rt *state, a []Value) (Value, error)) *builtin {
	b := &builtin{name: name, fn: fn}
	for _, p := range strings.Fields(signature) {
		if p == "/" {
			for i := range b.params {
				b.params[i].posOnly = true
			}
			continue
		}
		n, optional := strings.CutSuffix(p, "=")
		b.params = append(b.params, param{name: n, optional: optional})
	}
	return b
}

func defineRaw(name string, fn func(rt *state, args callArgs) (Value, error)) *builtin {
	return &builtin{name: name, raw: fn}
}

// param returns the index of a parameter, or -1 if there is none of that name.
func (b *builtin) param(name string) int {
	for i := range b.params {
		if b.params[i].name == name {
			return i
		}
	}
	return -1
}

// call binds arguments as Python does and calls the function.
func (b *builtin) call(rt *state, args callArgs) (Value, error) {
	if b.raw != nil {
		return b.raw(rt, args)
	}
	n := len(b.params)
	if len(args.pos) > n {
		return nil, typeErr("%s() takes %d positional arguments but %d were given", b.name, n, len(args.pos))
	}
	a, mark := rt.args(n)
	defer rt.release(mark)
	copy(a, args.pos)
	for _, k := range args.kw {
		i := b.param(k.name)
		if i < 0 || b.params[i].posOnly {
			return nil, typeErr("%s() got an unexpected keyword argument '%s'", b.name, k.name)
		}
		if a[i] != nil {
			return nil, typeErr("%s() got multiple values for argument '%s'", b.name, k.name)
		}
		a[i] = k.val
	}
	for i, p := range b.params {
		if a[i] == nil && !p.optional {
			return nil, typeErr("%s() missing required argument: '%s'", b.name, p.name)
		}
	}
	return b.fn(rt, a)
}

// funcValue is a function or class among the globals.
type funcValue struct {
	*builtin
	// class is the full name of a class, empty for a function.
	class string
}

func (f *funcValue) typeName() string {
	if f.class != "" {
		return "type"
	}
	return "function"
}

// aliasValue is a subscripted class such as dict['a']. It can only be printed.
type aliasValue string

func (aliasValue) typeName() string { return "types.GenericAlias" }

// boundMethod is a method of a value.
type boundMethod struct {
	recv Value
	name string
	kind string // type's name
	fn   func(rt *state, args callArgs) (Value, error)
}

func (m *boundMethod) typeName() string { return m.kind }

func bindMethod(recv Value, name string, fn func(rt *state, args callArgs) (Value, error)) Value {
	return &boundMethod{recv: recv, name: name, kind: "method", fn: fn}
}

// call calls a value.
func (rt *state) call(callee Value, args callArgs) (Value, error) {
	if err := rt.enter(); err != nil {
		return nil, err
	}
	defer rt.leave()
	switch c := callee.(type) {
	case *macroValue:
		return c.call(rt, args)
	case *boundMethod:
		return c.fn(rt, args)
	case *funcValue:
		return c.builtin.call(rt, args)
	case *undefinedValue:
		return nil, c.fail()
	case *joinerValue:
		return c.call(args)
	case *loopValue:
		if len(args.pos) != 1 || len(args.kw) > 0 {
			return nil, typeErr("LoopContext.__call__() takes 2 positional arguments but %d were given", len(args.pos)+1)
		}
		if c.recurse == nil {
			return nil, typeErr("The loop must have the 'recursive' marker to be called recursively.")
		}
		return c.recurse(rt, args.pos[0], c.depth0+1)
	}
	return nil, typeErr("'%s' object is not callable", callee.typeName())
}

// callable is Python's callable(v).
func callable(v Value) bool {
	switch v.(type) {
	case *macroValue, *boundMethod, *funcValue, *undefinedValue, *joinerValue, *loopValue:
		return true
	}
	return false
}

// Call holds the arguments of a host's filter.
type Call struct {
	// Value is the value before the pipe.
	Value Value
	// Args are the positional arguments after it.
	Args []Value
	rt   *state
	kw   []kwArg
}

// Arg returns the positional argument i, or the keyword argument name, or nil if neither was passed.
func (c *Call) Arg(i int, name string) Value {
	if i < len(c.Args) {
		return c.Args[i]
	}
	for _, k := range c.kw {
		if k.name == name {
			return k.val
		}
	}
	return nil
}

// Charge charges n bytes that the filter is about to allocate.
func (c *Call) Charge(n int) error { return c.rt.charge(n) }

// Work charges n steps that the filter is about to execute.
func (c *Call) Work(n int) error { return c.rt.work(n) }

// Errorf returns the error of a filter, with KindRuntime and the type "FilterError".
func (c *Call) Errorf(format string, args ...any) error {
	return otherErr("FilterError", format, args...)
}

// FilterFunc is a filter that a host adds.
type FilterFunc func(call *Call) (Value, error)

func hostFilter(name string, f FilterFunc) *builtin {
	return defineRaw(name, func(rt *state, args callArgs) (Value, error) {
		v, err := f(&Call{Value: args.pos[0], Args: args.pos[1:], kw: args.kw, rt: rt})
		if err != nil {
			return nil, hostErr(err)
		}
		if v == nil {
			v = None
		}
		return v, nil
	})
}
