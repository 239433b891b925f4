package jinja

import (
	"math"
	"math/big"
	"sync"
)

// powPrec is the precision of pow in bits: far beyond a float's, so rounding occurs once.
const powPrec = 192

func newFloat(f float64) *big.Float { return new(big.Float).SetPrec(powPrec).SetFloat64(f) }

// ln2 is the natural logarithm of 2. It must not be changed.
var ln2 = sync.OnceValue(func() *big.Float { return atanhSeries(1, 3) })

// preciseLog is the natural logarithm of a positive, finite f.
func preciseLog(f float64) *big.Float {
	mant, exp := math.Frexp(f)
	if mant < math.Sqrt2/2 {
		mant *= 2
		exp--
	}
	shift := newFloat(float64(exp))
	sum := atanhSeries(mant-1, mant+1)
	return sum.Add(sum, shift.Mul(shift, ln2()))
}

// atanhSeries is 2·atanh(a/b) = ln((b+a)/(b-a)), for a small against b.
func atanhSeries(a, b float64) *big.Float {
	term := newFloat(a)
	term.Quo(term, newFloat(b))
	square := newFloat(0).Mul(term, term)
	sum, part, divisor := newFloat(0), newFloat(0), newFloat(0)
	for k := 1; k < 200 && term.Sign() != 0; k += 2 {
		part.Quo(term, divisor.SetFloat64(float64(k)))
		if sum.Sign() != 0 && part.MantExp(nil) < sum.MantExp(nil)-powPrec {
			break
		}
		sum.Add(sum, part)
		term.Mul(term, square)
	}
	return sum.Add(sum, sum)
}

// preciseExp returns the exponential of x, whose magnitude is below 1100. It overwrites x.
func preciseExp(x *big.Float) float64 {
	q, _ := newFloat(0).Quo(x, ln2()).Float64()
	k := int(math.Round(q))
	whole := newFloat(float64(k))
	x.Sub(x, whole.Mul(whole, ln2()))
	const halvings = 8
	x.SetMantExp(x, -halvings)
	sum, term, divisor := newFloat(1), newFloat(1), newFloat(0)
	for n := 1; n < 60; n++ {
		term.Mul(term, x)
		term.Quo(term, divisor.SetFloat64(float64(n)))
		if term.Sign() == 0 || term.MantExp(nil) < -powPrec {
			break
		}
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	out, _ := sum.SetMantExp(sum, k).Float64()
	return out
}

// easyPow reports whether math.Pow is exact or has nothing to round.
func easyPow(f, g float64) bool {
	rough := math.Pow(f, g)
	switch {
	case f == 0, f == 1, g == 0, g == 1, rough == 0, math.IsNaN(rough), math.IsInf(rough, 0), math.IsInf(f, 0), math.IsInf(g, 0):
		return true
	}
	return g > 0 && g == math.Trunc(g) && f == math.Trunc(f) && math.Abs(rough) < 1<<53
}

// pow is C's pow with correct rounding, which math.Pow lacks in some cases.
func pow(f, g float64) float64 {
	rough := math.Pow(f, g)
	if easyPow(f, g) {
		return rough
	}
	x := preciseLog(math.Abs(f))
	return math.Copysign(preciseExp(x.Mul(x, newFloat(g))), rough)
}
