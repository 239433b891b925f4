package jinja

// applier is a filter or test that map or select applies to each item.
type applier func(rt *state, item Value) (Value, error)

// named returns the filter or test whose name is the value.
func (rt *state) named(what string, table map[string]*builtin, name Value) (*builtin, error) {
	if s, ok := asText(name); ok {
		if b := table[s]; b != nil {
			return b, nil
		}
	} else if _, err := hash(name); err != nil {
		return nil, err
	}
	return nil, templateErr("No %s named %s.", what, reprShort(name))
}

// applyTo makes the applier that calls b with the item before the other arguments.
func applyTo(b *builtin, args []Value, kw []kwArg) applier {
	return func(rt *state, item Value) (Value, error) {
		pos := make([]Value, 0, len(args)+1)
		return b.call(rt, callArgs{append(append(pos, item), args...), kw})
	}
}

// filterMap is map: a filter's name and arguments, or the keyword attribute.
func filterMap(rt *state, args callArgs) (Value, error) {
	if len(args.pos) == 0 {
		return nil, typeErr("do_map() missing required argument: 'value'")
	}
	return rt.lazy(args.pos[0], func() (applier, error) { return rt.mapper(args) }, func(_, out Value) (Value, bool, error) {
		return out, true, nil
	})
}

func (rt *state) mapper(args callArgs) (applier, error) {
	rest := args.pos[1:]
	var attr, def Value
	var unknown string
	for _, k := range args.kw {
		switch k.name {
		case "attribute":
			attr = k.val
		case "default":
			def = k.val
		default:
			if unknown == "" {
				unknown = k.name
			}
		}
	}
	if len(rest) == 0 && attr != nil {
		if unknown != "" {
			return nil, filterArgErr("Unexpected keyword argument %s", reprStr(unknown))
		}
		return applier(attrGetter(attr, def)), nil
	}
	if len(rest) == 0 {
		return nil, filterArgErr("map requires a filter argument")
	}
	name, pos := rest[0], rest[1:]
	return func(rt *state, item Value) (Value, error) {
		b, err := rt.named("filter", rt.engine.filters, name)
		if err != nil {
			return nil, err
		}
		return applyTo(b, pos, args.kw)(rt, item)
	}, nil
}

// selectFilter makes select, reject, selectattr and rejectattr.
func selectFilter(want, byAttr bool) func(rt *state, args callArgs) (Value, error) {
	return func(rt *state, args callArgs) (Value, error) {
		if len(args.pos) == 0 {
			return nil, typeErr("missing required argument: 'value'")
		}
		return rt.lazy(args.pos[0], func() (applier, error) { return selector(args, byAttr) }, func(item, out Value) (Value, bool, error) {
			ok, err := truthy(rt, out)
			return item, ok == want, err
		})
	}
}

func selector(args callArgs, byAttr bool) (applier, error) {
	rest := args.pos[1:]
	get := getter(func(_ *state, item Value) (Value, error) { return item, nil })
	if byAttr {
		if len(rest) == 0 {
			return nil, filterArgErr("Missing parameter for attribute name")
		}
		get = attrGetter(rest[0], nil)
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return applier(get), nil
	}
	name, pos := rest[0], rest[1:]
	return func(rt *state, item Value) (Value, error) {
		v, err := get(rt, item)
		if err != nil {
			return nil, err
		}
		b, err := rt.named("test", rt.engine.tests, name)
		if err != nil {
			return nil, err
		}
		return applyTo(b, pos, args.kw)(rt, v)
	}, nil
}

// lazy returns a generator that applies a function to the items of value. Like a Python generator it starts, and can fail, only
// when read.
func (rt *state) lazy(value Value, prepare func() (applier, error), pick func(item, out Value) (Value, bool, error)) (Value, error) {
	var it iterator
	var f applier
	done := false
	return generator(func(rt *state) (Value, error) {
		if done {
			return nil, nil
		}
		if it == nil {
			ok, err := truthy(rt, value)
			if err != nil {
				return nil, err
			}
			if !ok {
				done = true
				return nil, nil
			}
			if f, err = prepare(); err != nil {
				return nil, err
			}
			if it, err = rt.iterate(value); err != nil {
				return nil, err
			}
		}
		for {
			x, err := it.next(rt)
			if err != nil || x == nil {
				done = true
				return nil, err
			}
			if err := rt.step(); err != nil {
				return nil, err
			}
			out, err := f(rt, x)
			if err != nil {
				return nil, err
			}
			v, ok, err := pick(x, out)
			if err != nil || ok {
				return v, err
			}
		}
	}), nil
}
