package parameters

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits bounds the digits of a number, and its exponent: the work of a comparison grows with more than the digits that they stand for.
const maxDigits = 1000

// Rational returns the value of a number; ok is false for a number beyond maxDigits.
func Rational(n json.Number) (value *big.Rat, ok bool) {
	if isLarge(n) {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// isLarge reports whether a number is beyond maxDigits.
func isLarge(n json.Number) bool {
	text := n.String()
	if len(text) > maxDigits {
		return true
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return false
	}
	exponent, err := strconv.Atoi(text[at+1:])
	return err != nil || exponent > maxDigits || exponent < -maxDigits
}
