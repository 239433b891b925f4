package jinja

type recurseFn func(rt *state, v Value, depth int) (Value, error)

// loopValue is the variable loop inside a for statement, and the iterator that it controls.
type loopValue struct {
	over    Value // what is iterated, for its length
	it      iterator
	after   Value // the next item if it was read ahead
	current Value
	before  Value
	index0  int
	length  int // -1: not known yet
	depth0  int
	recurse recurseFn
	// changed holds the last arguments of loop.changed.
	changed Value
}

func newLoop(over Value, it iterator, recurse recurseFn, depth int) *loopValue {
	return &loopValue{over: over, it: it, index0: -1, length: -1, depth0: depth, recurse: recurse}
}

func (l *loopValue) typeName() string { return "LoopContext" }

func (l *loopValue) next(rt *state) (Value, error) {
	x := l.after
	l.after = nil
	if x == nil {
		var err error
		if x, err = l.it.next(rt); err != nil || x == nil {
			return nil, err
		}
	}
	l.index0++
	l.before, l.current = l.current, x
	return x, nil
}

func (l *loopValue) peek(rt *state) (Value, error) {
	if l.after == nil {
		x, err := l.it.next(rt)
		if err != nil {
			return nil, err
		}
		l.after = x
	}
	return l.after, nil
}

// len returns the number of items. It reads an iterator to its end.
func (l *loopValue) len(rt *state) (int, error) {
	if l.length >= 0 {
		return l.length, nil
	}
	if n, ok := sized(l.over); ok {
		l.length = n
		return n, nil
	}
	rest, err := rt.drain(l.it)
	if err != nil {
		return 0, err
	}
	l.it = &sliceIter{items: rest}
	l.length = len(rest) + l.index0 + 1
	if l.after != nil {
		l.length++
	}
	return l.length, nil
}

// attr returns an attribute of the loop variable, or nil if it has none of that name.
func (l *loopValue) attr(rt *state, name string) (Value, error) {
	switch name {
	case "index":
		return intValue(l.index0 + 1), nil
	case "index0":
		return intValue(l.index0), nil
	case "first":
		return Bool(l.index0 == 0), nil
	case "depth":
		return intValue(l.depth0 + 1), nil
	case "depth0":
		return intValue(l.depth0), nil
	case "last", "nextitem":
		x, err := l.peek(rt)
		switch {
		case err != nil:
			return nil, err
		case name == "last":
			return Bool(x == nil), nil
		case x == nil:
			return rt.undefinedHint("there is no next item"), nil
		}
		return x, nil
	case "previtem":
		if l.index0 <= 0 {
			return rt.undefinedHint("there is no previous item"), nil
		}
		return l.before, nil
	case "length", "revindex", "revindex0":
		n, err := l.len(rt)
		switch name {
		case "revindex":
			n -= l.index0
		case "revindex0":
			n -= l.index0 + 1
		}
		return intValue(n), err
	case "cycle":
		return bindMethod(l, "cycle", func(_ *state, args callArgs) (Value, error) {
			if len(args.kw) > 0 {
				return nil, typeErr("LoopContext.cycle() got an unexpected keyword argument '%s'", args.kw[0].name)
			}
			if len(args.pos) == 0 {
				return nil, typeErr("no items for cycling given")
			}
			i := l.index0 % len(args.pos)
			if i < 0 {
				i += len(args.pos)
			}
			return args.pos[i], nil
		}), nil
	case "changed":
		return bindMethod(l, "changed", func(rt *state, args callArgs) (Value, error) {
			if len(args.kw) > 0 {
				return nil, typeErr("LoopContext.changed() got an unexpected keyword argument '%s'", args.kw[0].name)
			}
			now := &tupleValue{items: append([]Value(nil), args.pos...)}
			if l.changed != nil {
				same, err := rt.equal(l.changed, now)
				if err != nil || same {
					return valFalse, err
				}
			}
			l.changed = now
			return valTrue, nil
		}), nil
	}
	return nil, nil
}
