package jinja

// builtinTests are Jinja's tests.
var builtinTests = map[string]*builtin{
	"boolean":     typeTest("test_boolean", func(v Value) bool { _, ok := v.(boolValue); return ok }),
	"callable":    typeTest("callable", callable),
	"defined":     typeTest("test_defined", func(v Value) bool { return !isUndefined(v) }),
	"undefined":   typeTest("test_undefined", isUndefined),
	"escaped":     typeTest("test_escaped", hasHTML),
	"false":       typeTest("test_false", func(v Value) bool { return v == valFalse }),
	"true":        typeTest("test_true", func(v Value) bool { return v == valTrue }),
	"float":       typeTest("test_float", func(v Value) bool { _, ok := v.(floatValue); return ok }),
	"integer":     typeTest("test_integer", isInt),
	"mapping":     typeTest("test_mapping", IsDict),
	"none":        typeTest("test_none", IsNone),
	"number":      typeTest("test_number", isNumber),
	"string":      typeTest("test_string", func(v Value) bool { _, ok := asText(v); return ok }),
	"sequence":    typeTest("test_sequence", isSequenceLike),
	"iterable":    define("test_iterable", "value", testIterable),
	"odd":         define("test_odd", "value", parityTest(1)),
	"even":        define("test_even", "value", parityTest(0)),
	"divisibleby": define("test_divisibleby", "value num", testDivisible),
	"lower":       caseTest("test_lower", isLowerText),
	"upper":       caseTest("test_upper", isUpperText),
	"sameas":      define("test_sameas", "value other", func(_ *state, a []Value) (Value, error) { return Bool(sameObject(a[0], a[1])), nil }),
	"in":          define("test_in", "value seq", func(rt *state, a []Value) (Value, error) { return rt.testCompare(opIn, a) }),
	"filter":      define("test_filter", "value", func(rt *state, a []Value) (Value, error) { return nameTest(rt.engine.filters, a[0]) }),
	"test":        define("test_test", "value", func(rt *state, a []Value) (Value, error) { return nameTest(rt.engine.tests, a[0]) }),
	"==":          compareTest("eq", opEq),
	"eq":          compareTest("eq", opEq),
	"equalto":     compareTest("eq", opEq),
	"!=":          compareTest("ne", opNe),
	"ne":          compareTest("ne", opNe),
	">":           compareTest("gt", opGt),
	"gt":          compareTest("gt", opGt),
	"greaterthan": compareTest("gt", opGt),
	">=":          compareTest("ge", opGe),
	"ge":          compareTest("ge", opGe),
	"<":           compareTest("lt", opLt),
	"lt":          compareTest("lt", opLt),
	"lessthan":    compareTest("lt", opLt),
	"<=":          compareTest("le", opLe),
	"le":          compareTest("le", opLe),
}

func typeTest(name string, f func(Value) bool) *builtin {
	signature := "value"
	if name == "callable" {
		signature = "obj /"
	}
	return define(name, signature, func(_ *state, a []Value) (Value, error) { return Bool(f(a[0])), nil })
}

func compareTest(name string, op cmpOp) *builtin {
	return define(name, "a b /", func(rt *state, a []Value) (Value, error) { return rt.testCompare(op, a) })
}

func (rt *state) testCompare(op cmpOp, a []Value) (Value, error) {
	ok, err := rt.compare(op, a[0], a[1])
	return Bool(ok), err
}

func caseTest(name string, f func(string) bool) *builtin {
	return define(name, "value", func(rt *state, a []Value) (Value, error) {
		s, err := rt.str(a[0])
		return Bool(f(s)), err
	})
}

func isInt(v Value) bool {
	switch v.(type) {
	case intValue, bigValue:
		return true
	}
	return false
}

// isSequenceLike is Jinja's test: it has a length and items.
func isSequenceLike(v Value) bool {
	switch v.(type) {
	case strValue, markupValue, bytesValue, *listValue, *tupleValue, *dictValue, rangeValue, *undefinedValue:
		return true
	}
	return false
}

func testIterable(rt *state, a []Value) (Value, error) {
	switch a[0].(type) {
	case *iterValue, *loopValue:
		return valTrue, nil
	}
	_, err := rt.iterate(a[0])
	if isClass(err, classType) {
		return valFalse, nil
	}
	return Bool(err == nil), err
}

func parityTest(rest int64) func(rt *state, a []Value) (Value, error) {
	return func(rt *state, a []Value) (Value, error) {
		m, err := rt.binary(tokMod, a[0], intValue(2))
		if err != nil {
			return nil, err
		}
		ok, err := rt.equal(m, intValue(rest))
		return Bool(ok), err
	}
}

func testDivisible(rt *state, a []Value) (Value, error) {
	m, err := rt.binary(tokMod, a[0], a[1])
	if err != nil {
		return nil, err
	}
	ok, err := rt.equal(m, intValue(0))
	return Bool(ok), err
}

func nameTest(table map[string]*builtin, name Value) (Value, error) {
	s, ok := asText(name)
	if !ok {
		_, err := hash(name)
		return valFalse, err
	}
	return Bool(table[s] != nil), nil
}

// sameObject is Jinja's sameas, Python's "is". For equal strings and small ints it returns true, because CPython shares those
// objects.
func sameObject(a, b Value) bool { return identical(a, b) }
