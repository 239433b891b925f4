package jinja

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// ErrJSON is wrapped by errors of FromJSON.
var ErrJSON = errors.New("not a JSON value")

// maxJSONDepth is the maximum nesting depth of JSON.
const maxJSONDepth = 800

// FromJSON parses one JSON value, of at most jsontoken.MaxValues values. It keeps the order of keys; the last of duplicate keys wins. Integers are exact, up to the
// length that Python parses; a number with a fraction or an exponent is a float. Strings share memory with text.
func FromJSON(text string) (Value, error) {
	values := idleJSONValues.Get().(*jsonValues)
	defer values.release()
	limits := jsontoken.Limits{Depth: maxJSONDepth, Values: jsontoken.MaxValues}
	err := jsontoken.Scan(text, limits, values)
	if err != nil && !utf8.ValidString(text) {
		values.stack = values.stack[:0]
		err = jsontoken.Scan(string([]rune(text)), limits, values) // Each invalid byte becomes U+FFFD.
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	return values.stack[0], nil
}

// DecodeVars parses a JSON object as the variables of a template.
func DecodeVars(data []byte) (Vars, error) {
	v, err := FromJSON(string(data))
	if err != nil {
		return nil, err
	}
	d, ok := v.(*dictValue)
	if !ok {
		return nil, fmt.Errorf("%w: the context must be an object", ErrJSON)
	}
	vars := make(Vars, len(d.keys))
	for i, k := range d.keys {
		name, _ := asText(k)
		vars[name] = d.vals[i]
	}
	return vars, nil
}

func jsonNumber(s string) (Value, error) {
	if containsOne(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, err
		}
		return floatValue(f), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return intValue(n), nil
	}
	if n := len(strings.TrimPrefix(s, "-")); n > maxStrDigits {
		return nil, fmt.Errorf("int has %d digits, more than the %d that Python parses", n, maxStrDigits)
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("invalid number %q", s)
	}
	return normBig(n), nil
}

// ToJSON returns a value as compact JSON with its keys in order, for a host that reads data from a template. It does not escape
// for HTML. Keys that are not str are written as Python's json writes them.
func ToJSON(v Value) ([]byte, error) {
	e := &jsonEncoder{item: ",", key: ":", plain: true}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.b, nil
}
