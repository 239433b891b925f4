package jinja

import (
	"math"
	"math/big"
)

// powPrec is the precision of pow in bits: far beyond a float's, so that the result is rounded once.
const powPrec = 192

// preciseLog is the natural logarithm of a positive, finite f.
func preciseLog(f float64) *big.Float {
	mant, exp := math.Frexp(f)
	if mant < math.Sqrt2/2 {
		mant *= 2
		exp--
	}
	sum := atanhSeries(newFloat(mant-1), newFloat(mant+1))
	ln2 := atanhSeries(newFloat(1), newFloat(3))
	return sum.Add(sum, ln2.Mul(ln2, newFloat(float64(exp))))
}

func newFloat(f float64) *big.Float { return new(big.Float).SetPrec(powPrec).SetFloat64(f) }

// atanhSeries is 2·atanh(a/b) = ln((b+a)/(b-a)), for a small against b.
func atanhSeries(a, b *big.Float) *big.Float {
	z := new(big.Float).SetPrec(powPrec).Quo(a, b)
	square := new(big.Float).SetPrec(powPrec).Mul(z, z)
	sum, term := newFloat(0), newFloat(0).Set(z)
	for k := 1; k < 200 && term.Sign() != 0; k += 2 {
		part := new(big.Float).SetPrec(powPrec).Quo(term, newFloat(float64(k)))
		if part.Sign() == 0 || sum.Sign() != 0 && part.MantExp(nil) < sum.MantExp(nil)-powPrec {
			break
		}
		sum.Add(sum, part)
		term.Mul(term, square)
	}
	return sum.Mul(sum, newFloat(2))
}

// preciseExp is the exponential of x, whose magnitude is below 1100.
func preciseExp(x *big.Float) float64 {
	ln2 := atanhSeries(newFloat(1), newFloat(3))
	q := new(big.Float).SetPrec(powPrec).Quo(x, ln2)
	f, _ := q.Float64()
	k := int(math.Round(f))
	r := new(big.Float).SetPrec(powPrec).Sub(x, ln2.Mul(ln2, newFloat(float64(k))))
	const halvings = 8
	r.SetMantExp(r, -halvings)
	sum, term := newFloat(1), newFloat(1)
	for n := 1; n < 60; n++ {
		term.Mul(term, r)
		term.Quo(term, newFloat(float64(n)))
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

// pow is C's pow, rounded correctly, which math.Pow is not always.
func pow(f, g float64) float64 {
	rough := math.Pow(f, g)
	if f == 0 || f == 1 || g == 0 || g == 1 || math.IsNaN(rough) || math.IsInf(f, 0) || math.IsInf(g, 0) || rough == 0 || math.IsInf(rough, 0) {
		return rough
	}
	x := preciseLog(math.Abs(f))
	return math.Copysign(preciseExp(x.Mul(x, newFloat(g))), rough)
}
