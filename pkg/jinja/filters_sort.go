package jinja

import (
	"sort"
	"strings"
)

// sortIndices sorts indices by their keys, stably, with Python's <. If boxed, keys represent lists of one item, in which an
// item equals itself.
func (rt *state) sortIndices(order []int, keys []Value, reverse, boxed bool) error {
	var failed error
	sort.SliceStable(order, func(i, j int) bool {
		if failed != nil {
			return false
		}
		if failed = rt.step(); failed != nil {
			return false
		}
		a, b := keys[order[i]], keys[order[j]]
		if reverse {
			a, b = b, a
		}
		if boxed {
			same, err := rt.same(a, b)
			if failed = err; same || err != nil {
				return false
			}
		}
		less, err := rt.order(opLt, a, b)
		failed = err
		return less
	})
	return failed
}

// sorted is Python's sorted(items, key, reverse).
func (rt *state) sorted(items []Value, key getter, reverse, boxed bool) ([]Value, []Value, error) {
	n := len(items)
	if err := rt.chargeTimes(n, 5*sizeValue); err != nil {
		return nil, nil, err
	}
	keys := make([]Value, n)
	order := make([]int, n)
	for i, it := range items {
		order[i] = i
		keys[i] = it
		if key != nil {
			var err error
			if keys[i], err = key(rt, it); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := rt.sortIndices(order, keys, reverse, boxed); err != nil {
		return nil, nil, err
	}
	out, outKeys := make([]Value, n), make([]Value, n)
	for i, k := range order {
		out[i], outKeys[i] = items[k], keys[k]
	}
	return out, outKeys, nil
}

// reverseFlag is the argument reverse, which sorted() wants to be an int.
func reverseFlag(v Value) (bool, error) {
	n, err := intArg(v, 0)
	return n != 0, err
}

func filterSort(rt *state, a []Value) (Value, error) {
	caseSensitive, err := rt.flag(a[2], false)
	if err != nil {
		return nil, err
	}
	items, err := rt.toSlice(a[0])
	if err != nil {
		return nil, err
	}
	reverse, err := reverseFlag(a[1])
	if err != nil {
		return nil, err
	}
	attr := a[3]
	if attr == nil {
		attr = None
	}
	if path, ok := asText(attr); !ok || !strings.Contains(path, ",") {
		out, _, err := rt.sorted(items, folded(attrGetter(attr, nil), caseSensitive), reverse, true)
		return &listValue{out}, err
	}
	out, _, err := rt.sorted(items, multiGetter(attr, caseSensitive), reverse, false)
	return &listValue{out}, err
}

func filterDictSort(rt *state, a []Value) (Value, error) {
	by := "key"
	if a[2] != nil {
		by, _ = asText(a[2])
	}
	if by != "key" && by != "value" {
		return nil, filterArgErr(`You can only sort by either "key" or "value"`)
	}
	caseSensitive, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	d, ok := a[0].(*dictValue)
	if !ok {
		if u, isU := a[0].(*undefinedValue); isU {
			return nil, u.fail()
		}
		return nil, attributeErr("'%s' object has no attribute 'items'", a[0].typeName())
	}
	reverse, err := reverseFlag(a[3])
	if err != nil {
		return nil, err
	}
	items, err := rt.toSlice(&dictView{d, viewItems})
	if err != nil {
		return nil, err
	}
	key := folded(func(_ *state, item Value) (Value, error) {
		t := item.(*tupleValue)
		if by == "value" {
			return t.items[1], nil
		}
		return t.items[0], nil
	}, caseSensitive)
	out, _, err := rt.sorted(items, key, reverse, false)
	return &listValue{out}, err
}

func filterGroupBy(rt *state, a []Value) (Value, error) {
	caseSensitive, err := rt.flag(a[3], false)
	if err != nil {
		return nil, err
	}
	get := attrGetter(a[1], a[2])
	items, err := rt.toSlice(a[0])
	if err != nil {
		return nil, err
	}
	items, keys, err := rt.sorted(items, folded(get, caseSensitive), false, false)
	if err != nil {
		return nil, err
	}
	var groups []Value
	for i := 0; i < len(items); {
		j := i + 1
		for ; j < len(items); j++ {
			same, err := rt.same(keys[i], keys[j])
			if err != nil {
				return nil, err
			}
			if !same {
				break
			}
		}
		key := keys[i]
		if !caseSensitive {
			if key, err = get(rt, items[i]); err != nil {
				return nil, err
			}
		}
		if err := rt.charge(4 * sizeList); err != nil {
			return nil, err
		}
		groups = append(groups, &tupleValue{
			items:  []Value{key, &listValue{items[i:j:j]}},
			fields: groupFields,
		})
		i = j
	}
	return &listValue{groups}, nil
}

var groupFields = []string{"grouper", "list"}

func filterUnique(rt *state, a []Value) (Value, error) {
	caseSensitive, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	key := folded(attrGetter(a[2], nil), caseSensitive)
	value := a[0]
	var it iterator
	seen := make(map[hashKey]bool)
	return generator(func(rt *state) (Value, error) {
		if it == nil {
			var err error
			if it, err = rt.iterate(value); err != nil {
				return nil, err
			}
		}
		for {
			x, err := it.next(rt)
			if err != nil || x == nil {
				return nil, err
			}
			k, err := key(rt, x)
			if err != nil {
				return nil, err
			}
			if err := rt.payKey(k); err != nil {
				return nil, err
			}
			h, err := hash(k)
			if err != nil {
				return nil, err
			}
			if !seen[h] {
				if err := rt.charge(2 * sizeEntry); err != nil {
					return nil, err
				}
				seen[h] = true
				return x, nil
			}
		}
	}), nil
}

func filterMin(rt *state, a []Value) (Value, error) { return rt.extreme(a, opLt) }
func filterMax(rt *state, a []Value) (Value, error) { return rt.extreme(a, opGt) }

func (rt *state) extreme(a []Value, op cmpOp) (Value, error) {
	caseSensitive, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	it, err := rt.iterate(a[0])
	if err != nil {
		return nil, err
	}
	key := folded(attrGetter(a[2], nil), caseSensitive)
	var best, bestKey Value
	for {
		x, err := it.next(rt)
		if err != nil {
			return nil, err
		}
		if x == nil {
			break
		}
		k, err := key(rt, x)
		if err != nil {
			return nil, err
		}
		if best != nil {
			better, err := rt.order(op, k, bestKey)
			if err != nil {
				return nil, err
			}
			if !better {
				continue
			}
		}
		best, bestKey = x, k
	}
	if best == nil {
		return rt.undefinedHint("No aggregated item, sequence was empty."), nil
	}
	return best, nil
}
