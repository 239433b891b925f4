package jinja

func filterWordWrap(rt *state, a []Value) (Value, error) { return a[0], nil }
func filterPPrint(rt *state, a []Value) (Value, error) {
	s, err := rt.repr(a[0])
	return strValue(s), err
}
func addHumanizeFilters(map[string]*builtin) {}
