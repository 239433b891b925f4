package jinja

import (
	"math"
	"math/big"
	"strings"
)

// fits rejects ints with more digits than the budget allows, before computing them.
func (rt *state) fits(bitLen int) error {
	// A digit is log2(10) bits: 3.3219.
	if int64(bitLen) > int64(rt.budget.Digits)*33220/10000 {
		return budgetErr("an integer exceeds the budget of %d digits", rt.budget.Digits)
	}
	return rt.charge(bitLen/8 + 16)
}

func (rt *state) bigArith(op tokenKind, x, y *big.Int) (Value, error) {
	xl, yl := x.BitLen(), y.BitLen()
	if err := rt.work(1 + (xl/64)*(yl/64)/64); err != nil {
		return nil, err
	}
	z := new(big.Int)
	switch op {
	case tokAdd, tokSub:
		if err := rt.fits(max(xl, yl) + 1); err != nil {
			return nil, err
		}
		if op == tokAdd {
			return normBig(z.Add(x, y)), nil
		}
		return normBig(z.Sub(x, y)), nil
	case tokMul:
		if err := rt.fits(xl + yl); err != nil {
			return nil, err
		}
		return normBig(z.Mul(x, y)), nil
	case tokDiv:
		if y.Sign() == 0 {
			return nil, zeroDivErr("division by zero")
		}
		return bigTrueDiv(x, y)
	case tokFloorDiv, tokMod:
		if y.Sign() == 0 {
			return nil, zeroDivErr("integer division or modulo by zero")
		}
		m := new(big.Int)
		z.QuoRem(x, y, m)
		// Go rounds towards zero, Python down.
		if m.Sign() != 0 && (m.Sign() < 0) != (y.Sign() < 0) {
			m.Add(m, y)
			z.Sub(z, big.NewInt(1))
		}
		if op == tokMod {
			return normBig(m), nil
		}
		return normBig(z), nil
	case tokPow:
		return rt.bigPow(x, y)
	}
	return nil, typeErr("unsupported operator")
}

func bigTrueDiv(x, y *big.Int) (Value, error) {
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		return nil, overflowErr("integer division result too large for a float")
	}
	return floatValue(f), nil
}

func (rt *state) bigPow(x, y *big.Int) (Value, error) {
	if y.Sign() < 0 {
		f, err := toFloat(normBig(x))
		if err != nil {
			return nil, err
		}
		g, err := toFloat(normBig(y))
		if err != nil {
			return nil, err
		}
		return rt.floatArith(tokPow, f, g)
	}
	if x.BitLen() <= 1 { // -1, 0, 1
		switch {
		case y.Sign() == 0:
			return intValue(1), nil
		case x.Sign() < 0 && y.Bit(0) == 0:
			return intValue(1), nil
		}
		return normBig(x), nil
	}
	if !y.IsInt64() || y.Int64() > int64(rt.budget.Digits)*4 {
		return nil, budgetErr("an integer exceeds the budget of %d digits", rt.budget.Digits)
	}
	if err := rt.fits((x.BitLen()-1)*int(y.Int64()) + 1); err != nil {
		return nil, err
	}
	z := new(big.Int).Exp(x, y, nil)
	if err := rt.work(z.BitLen() / 64 * z.BitLen() / 64 / 64); err != nil {
		return nil, err
	}
	return normBig(z), nil
}

// bigText is the decimal text of a big int, which Python refuses beyond 4300 digits.
func (rt *state) bigText(v bigValue) (string, error) {
	if v.n.BitLen() > maxStrDigits*4 {
		return "", valueErr("Exceeds the limit (%d digits) for integer string conversion", maxStrDigits)
	}
	if words := v.n.BitLen() / 64; rt != nil {
		if err := rt.work(words * words / 32); err != nil {
			return "", err
		}
	}
	s := v.n.String()
	if len(strings.TrimPrefix(s, "-")) > maxStrDigits {
		return "", valueErr("Exceeds the limit (%d digits) for integer string conversion", maxStrDigits)
	}
	return s, nil
}
