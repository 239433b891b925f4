package jinja

import (
	"context"
	"errors"
	"math"
	"strings"
)

// folds reports whether Jinja's compiler tries to evaluate an expression of this kind.
func folds(e expr) bool {
	switch e.(type) {
	case *constExpr, *binExpr, *unaryExpr, *notExpr, *logicExpr, *concatExpr, *compareExpr, *attrExpr, *itemExpr, *filterExpr, *testExpr, *condExpr:
		return true
	}
	return false
}

// folded compiles an expression that Jinja evaluates at compile time. Jinja's generated code cannot express infinity and NaN,
// so such a constant fails when used.
func (c *compiler) folded(e expr, f cframe) (evalFn, error) {
	if k, ok := e.(*constExpr); ok {
		if x, ok := k.val.(floatValue); !ok || !math.IsInf(float64(x), 0) {
			return c.plainExpr(e, f)
		}
	}
	c.folding = true
	x, err := c.plainExpr(e, f)
	c.folding = false
	if err == nil {
		err = c.checkConstant(e, x)
	}
	if err != nil {
		return nil, err
	}
	c.unfolded = true
	plain, err := c.plainExpr(e, f)
	c.unfolded = false
	if err != nil {
		return nil, err
	}
	at := e.at()
	return func(fr *frame) (Value, error) {
		v, err := x(fr)
		switch v := v.(type) {
		case floatValue:
			if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
				return nil, c.at(at, otherErr("NameError", "name '%s' is not defined", strings.TrimPrefix(reprFloat(float64(v)), "-")))
			}
		case *undefinedValue:
			return plain(fr)
		}
		return v, err
	}, nil
}

// constantBudget bounds the evaluation of a constant at compile time.
var constantBudget = Budget{Steps: 20_000, Bytes: 1 << 18, Depth: 20, Digits: 20_000, Range: 1, OutputBytes: 1 << 16, Timeout: -1}

// checkConstant rejects a constant int with more digits than Python converts to text: Jinja's compiler fails on it too.
func (c *compiler) checkConstant(e expr, x evalFn) error {
	if !hasPower(e) {
		return nil
	}
	rt := &state{engine: c.engine, out: &buffer{limit: constantBudget.OutputBytes}}
	rt.init(context.Background(), &constantBudget, 0, nil)
	v, err := x(&frame{rt: rt})
	if err == nil {
		_, err = rt.repr(v)
	}
	if failed, ok := errors.AsType[*Error](err); ok && failed.class == classValue && strings.HasPrefix(failed.Message, "Exceeds the limit") {
		return c.fail(e.at(), "%s", failed.Message)
	}
	return nil
}

func hasPower(e expr) bool {
	if b, ok := e.(*binExpr); ok && b.op == tokPow {
		return true
	}
	found := false
	children(e, func(part expr) { found = found || hasPower(part) })
	return found
}

// constant reports whether Jinja's compiler evaluates an expression itself: it has no names and no calls, and
// no filters that depend on the context.
func (c *compiler) constant(e expr) bool {
	switch e := e.(type) {
	case *nameExpr, *callExpr, *slotExpr:
		return false
	case *filterExpr:
		switch e.name {
		case "map", "select", "reject", "selectattr", "rejectattr", "random":
			return false
		}
		if c.volatile || e.val == nil || c.engine.filters[e.name] == nil {
			return false
		}
	case *testExpr:
		if c.volatile || c.engine.tests[e.name] == nil {
			return false
		}
	case *condExpr:
		if e.other == nil {
			return false
		}
	}
	ok := true
	children(e, func(part expr) { ok = ok && c.constant(part) })
	return ok
}
