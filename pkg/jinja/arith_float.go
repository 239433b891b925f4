package jinja

import (
	"math"
	"math/cmplx"
)

// The steps and bytes that a power of floats costs: its intermediate results are long.
const (
	powWork  = 100
	powBytes = 12 << 10
)

func (rt *state) floatArith(op tokenKind, f, g float64) (Value, error) {
	switch op {
	case tokPow:
		if !easyPow(f, g) {
			if err := rt.work(powWork); err != nil {
				return nil, err
			}
			if err := rt.charge(powBytes); err != nil {
				return nil, err
			}
		}
		return floatPow(f, g)
	case tokAdd:
		return floatValue(f + g), nil
	case tokSub:
		return floatValue(f - g), nil
	case tokMul:
		return floatValue(f * g), nil
	case tokDiv:
		if g == 0 {
			return nil, zeroDivErr("float division by zero")
		}
		return floatValue(f / g), nil
	case tokFloorDiv, tokMod:
		if g == 0 {
			if op == tokMod {
				return nil, zeroDivErr("float modulo")
			}
			return nil, zeroDivErr("float floor division by zero")
		}
		q, m := floatDivMod(f, g)
		if op == tokMod {
			return floatValue(m), nil
		}
		return floatValue(q), nil
	}
	return nil, typeErr("unsupported operator")
}

// floatDivMod is Python's divmod: the remainder has the sign of the divisor.
func floatDivMod(f, g float64) (q, m float64) {
	m = math.Mod(f, g)
	d := (f - m) / g
	if m != 0 {
		if (g < 0) != (m < 0) {
			m += g
			d--
		}
	} else {
		m = math.Copysign(0, g)
	}
	if d != 0 {
		q = math.Floor(d)
		if d-q > 0.5 {
			q++
		}
	} else {
		q = math.Copysign(0, f/g)
	}
	return q, m
}

func floatPow(f, g float64) (Value, error) {
	switch {
	case f == 0 && g < 0:
		return nil, zeroDivErr("0.0 cannot be raised to a negative power")
	case f < 0 && !math.IsInf(f, 0) && !math.IsInf(g, 0) && g != math.Trunc(g):
		return complexValue(complexPow(complex(f, 0), complex(g, 0))), nil
	}
	r := pow(f, g)
	if math.IsInf(r, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0) {
		return nil, overflowErr("(34, 'Numerical result out of range')")
	}
	return floatValue(r), nil
}

func complexPow(a, b complex128) complex128 {
	if a == 0 {
		return 0
	}
	vabs := cmplx.Abs(a)
	length := pow(vabs, real(b))
	at := cmplx.Phase(a)
	phase := at * real(b)
	if imag(b) != 0 {
		length *= math.Exp(-at * imag(b))
		phase += imag(b) * math.Log(vabs)
	}
	return complex(length*math.Cos(phase), length*math.Sin(phase))
}

func complexArith(op tokenKind, a, b Value) (Value, error) {
	conv := func(v Value) (complex128, error) {
		if c, ok := v.(complexValue); ok {
			return complex128(c), nil
		}
		f, err := toFloat(v)
		return complex(f, 0), err
	}
	x, err := conv(a)
	if err != nil {
		return nil, err
	}
	y, err := conv(b)
	if err != nil {
		return nil, err
	}
	switch op {
	case tokAdd:
		return complexValue(x + y), nil
	case tokSub:
		return complexValue(x - y), nil
	case tokMul:
		return complexValue(x * y), nil
	case tokDiv:
		if y == 0 {
			return nil, zeroDivErr("complex division by zero")
		}
		return complexValue(x / y), nil
	case tokPow:
		return complexValue(complexPow(x, y)), nil
	}
	return nil, unsupported(op, a, b)
}
