package jinja

// method is a method of a Python type.
type method struct {
	*builtin
	fn func(rt *state, recv Value, a []Value) (Value, error)
	// rawFn, if set, receives all arguments unbound.
	rawFn func(rt *state, recv Value, args callArgs) (Value, error)
}

func newMethod(name, signature string, fn func(rt *state, recv Value, a []Value) (Value, error)) *method {
	return &method{builtin: define(name, signature, nil), fn: fn}
}

func (m *method) bind(recv Value, name string) Value {
	kind := "builtin_function_or_method"
	if _, ok := recv.(markupValue); ok {
		kind = "method"
	}
	return &boundMethod{recv: recv, name: name, kind: kind, fn: func(rt *state, args callArgs) (Value, error) {
		return m.call(rt, recv, args)
	}}
}

func (m *method) call(rt *state, recv Value, args callArgs) (Value, error) {
	if err := rt.step(); err != nil {
		return nil, err
	}
	if m.rawFn != nil {
		return m.rawFn(rt, recv, args)
	}
	n := len(m.params)
	if len(args.pos) > n {
		if n == 0 {
			return nil, typeErr("%s.%s() takes no arguments (%d given)", recv.typeName(), m.name, len(args.pos))
		}
		return nil, typeErr("%s expected at most %d arguments, got %d", m.name, n, len(args.pos))
	}
	a, mark := rt.args(n)
	defer rt.release(mark)
	copy(a, args.pos)
	for _, k := range args.kw {
		i := m.param(k.name)
		if i < 0 || m.params[i].posOnly {
			return nil, typeErr("%s() got an unexpected keyword argument '%s'", m.name, k.name)
		}
		if a[i] != nil {
			return nil, typeErr("argument for %s() given by name ('%s') and position (%d)", m.name, k.name, i+1)
		}
		a[i] = k.val
	}
	for i, p := range m.params {
		if a[i] == nil && !p.optional {
			return nil, typeErr("%s() takes at least %d argument (%d given)", m.name, i+1, len(args.pos))
		}
	}
	return m.fn(rt, recv, a)
}

// Arguments of methods and filters, as Python's C functions convert them.

// intArg returns an argument that must be an int, or def for nil.
func intArg(v Value, def int) (int, error) {
	if v == nil {
		return def, nil
	}
	if n, ok := AsInt(v); ok {
		return int(n), nil
	}
	if b, ok := v.(bigValue); ok {
		if b.n.Sign() < 0 {
			return 0, overflowErr("Python int too large to convert to C ssize_t")
		}
		return 0, overflowErr("Python int too large to convert to C ssize_t")
	}
	return 0, typeErr("'%s' object cannot be interpreted as an integer", v.typeName())
}

// textArg returns an argument that must be a str.
func textArg(v Value, what string) (string, error) {
	if s, ok := asText(v); ok {
		return s, nil
	}
	return "", typeErr("%s must be str, not %s", what, v.typeName())
}
