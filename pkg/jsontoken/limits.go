package jsontoken

import "bytes"

// MaxValues is the number of values that one text from outside may hold. A value takes up to 130 bytes of memory once it is parsed,
// and as little as two bytes of text.
const MaxValues = 250_000

// Limits bounds what Scan reads.
type Limits struct {
	// Depth is the maximum nesting depth of arrays and objects.
	Depth int
	// Values is the maximum number of values, those inside of arrays and objects included; 0 means no limit.
	Values int
}

// CountValues returns how many values a parser may build from text, without allocating. The number is an upper bound up to the
// maximum and exact above it. It reports false if the text begins with more values than the maximum.
func CountValues(text []byte, maximum int) (n int, ok bool) {
	bound := 1 + bytes.Count(text, []byte{','}) + bytes.Count(text, []byte{'['}) + bytes.Count(text, []byte{'{'})
	if bound <= maximum {
		return bound, true
	}
	l := Lexer{Data: text, MaxDepth: MaxDepth, MaxValues: maximum} // The text may be no JSON, or have commas in its strings.
	l.value(l.space(0), 0, nil)
	return l.values, l.values <= maximum
}
