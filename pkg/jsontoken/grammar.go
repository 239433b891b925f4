package jsontoken

import (
	"fmt"
	"runtime"
	"unicode/utf8"
)

// These methods read whole values, for a Builder or only for their end. They pass the offset as argument and result, which is
// a third faster than updating Lexer.Pos. Each takes the token or value at i and returns its end, or -1 after a syntax error.

// Messages of syntax errors that several methods report.
const (
	noKey   = "a key in double quotes is expected"
	noColon = "a colon is expected after the key"
)

var unclosed = [...]string{']': "a comma or a closing bracket is expected", '}': "a comma or a closing brace is expected"}

// yieldEvery is the number of bytes of a long text after which other goroutines run. They take some 100 µs; the scheduler preempts after
// ten milliseconds.
const yieldEvery = 32 << 10

func (l *Lexer) yield(i int) {
	l.yielded = i
	runtime.Gosched()
}

func (l *Lexer) failed(at int, reason string) int {
	l.fail(at, reason)
	return -1
}

func (l *Lexer) tooDeep(at int) int {
	return l.failed(at, fmt.Sprintf("nested more than %d levels deep", l.MaxDepth))
}

func (l *Lexer) space(i int) int {
	from := i
	for i < len(l.Data) && (l.Data[i] == ' ' || l.Data[i] == '\n' || l.Data[i] == '\r' || l.Data[i] == '\t') {
		i++
	}
	l.Spaces += i - from
	return i
}

// value takes a value of any kind. Without an emitter it only finds the end.
func (l *Lexer) value(i, depth int, to *emitter) int {
	if i >= len(l.Data) {
		return l.noValue(i)
	}
	if i-l.yielded > yieldEvery {
		l.yield(i)
	}
	if l.values++; l.values > l.MaxValues && l.MaxValues > 0 {
		return l.failed(i, fmt.Sprintf("the text has more than %d values", l.MaxValues))
	}
	var end int
	switch l.Data[i] {
	case '"':
		var plain bool
		if end, plain = l.string(i); to != nil && end >= 0 {
			to.Text(to.characters(i, end, plain))
		}
	case '{':
		return l.object(i, depth+1, to)
	case '[':
		return l.array(i, depth+1, to)
	case 't':
		if end = l.literal(i, "true"); to != nil && end >= 0 {
			to.Bool(true)
		}
	case 'f':
		if end = l.literal(i, "false"); to != nil && end >= 0 {
			to.Bool(false)
		}
	case 'n':
		if end = l.literal(i, "null"); to != nil && end >= 0 {
			to.Null()
		}
	default:
		if end = l.number(i); to != nil && end >= 0 {
			if to.err = to.Number(to.text[i:end]); to.err != nil {
				return -1
			}
		}
	}
	return end
}

func (l *Lexer) object(i, depth int, to *emitter) int {
	if depth > l.MaxDepth {
		return l.tooDeep(i)
	}
	i = l.space(i + 1)
	if i < len(l.Data) && l.Data[i] == '}' {
		if to != nil {
			to.Object(0)
		}
		return i + 1
	}
	for n := 1; i < len(l.Data) && l.Data[i] == '"'; n++ {
		end, plain := l.string(i)
		if end < 0 {
			return end
		}
		if to != nil {
			to.Key(to.characters(i, end, plain))
		}
		if i = l.space(end); i >= len(l.Data) || l.Data[i] != ':' {
			return l.failed(i, noColon)
		}
		if i = l.value(l.space(i+1), depth, to); i < 0 {
			return i
		}
		i = l.space(i)
		switch {
		case i < len(l.Data) && l.Data[i] == ',':
			i = l.space(i + 1)
		case i < len(l.Data) && l.Data[i] == '}':
			if to != nil {
				to.Object(n)
			}
			return i + 1
		default:
			return l.failed(i, unclosed['}'])
		}
	}
	return l.failed(i, noKey)
}

func (l *Lexer) array(i, depth int, to *emitter) int {
	if depth > l.MaxDepth {
		return l.tooDeep(i)
	}
	i = l.space(i + 1)
	if i < len(l.Data) && l.Data[i] == ']' {
		if to != nil {
			to.Array(0)
		}
		return i + 1
	}
	for n := 1; ; n++ {
		if i = l.value(i, depth, to); i < 0 {
			return i
		}
		i = l.space(i)
		switch {
		case i < len(l.Data) && l.Data[i] == ',':
			i = l.space(i + 1)
		case i < len(l.Data) && l.Data[i] == ']':
			if to != nil {
				to.Array(n)
			}
			return i + 1
		default:
			return l.failed(i, unclosed[']'])
		}
	}
}

func (l *Lexer) noValue(i int) int {
	if i >= len(l.Data) {
		return l.failed(i, "the text ends where a value is expected")
	}
	return l.failed(i, "a value is expected")
}

func (l *Lexer) literal(i int, word string) int {
	if end := i + len(word); end <= len(l.Data) && string(l.Data[i:end]) == word {
		return end
	}
	return l.noValue(i)
}

func (l *Lexer) number(start int) int {
	const noDigit = "a digit is expected"
	text, i := l.Data, start
	if i < len(text) && text[i] == '-' {
		i++
	}
	integer := i
	switch i = digits(text, i); {
	case i == start:
		return l.noValue(i)
	case i == integer:
		return l.failed(i, noDigit)
	case text[integer] == '0':
		i = integer + 1 // A leading zero ends the integer part; a digit after it is unexpected text.
	}
	if i < len(text) && text[i] == '.' {
		from := i + 1
		if i = digits(text, from); i == from {
			return l.failed(i, noDigit)
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		from := i
		if i = digits(text, from); i == from {
			return l.failed(i, noDigit)
		}
	}
	return i
}

func digits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

// string also reports whether the string is plain: without escapes, its characters are Data[i+1:end-1].
func (l *Lexer) string(i int) (end int, plain bool) {
	start := i + 1
	end, ascii := PlainEnd(l.Data, start)
	plain = true
	for end < len(l.Data) {
		switch l.Data[end] {
		case '"':
			if !ascii && !utf8.Valid(l.Data[start:end]) {
				return l.failed(i, "a string is not valid UTF-8"), false
			}
			return end + 1, plain
		case '\\':
			n, reason, lone := escape(l.Data, end)
			if reason != "" {
				return l.failed(end, reason), false
			}
			if plain = false; end-l.yielded > yieldEvery {
				l.yield(end)
			}
			l.LoneSurrogate = l.LoneSurrogate || lone
			end += n
		default:
			return l.failed(end, "a control character stands in a string"), false
		}
		var more bool
		end, more = PlainEnd(l.Data, end)
		ascii = ascii && more
	}
	return l.failed(i, "a string does not end"), false
}
