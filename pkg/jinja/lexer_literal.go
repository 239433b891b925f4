package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// number reads a float or an integer; lx.at is at a digit.
func (lx *lexer) number() error {
	s, i := lx.src.text, lx.at
	if end, ok := scanFloat(s, i); ok && (i == 0 || s[i-1] != '.') {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(s[i:end], "_", ""), 64)
		lx.emit(token{kind: tokFloat, pos: pos(i), float: f})
		lx.at = end
		return nil
	}
	end, base := scanInteger(s, i)
	text := strings.ReplaceAll(s[i:end], "_", "")
	if base != 10 {
		text = text[2:]
	}
	t := token{kind: tokInteger, pos: pos(i)}
	n, err := strconv.ParseInt(text, base, 64)
	if err == nil {
		t.small = n
	} else {
		if base == 10 && len(text) > maxStrDigits {
			return lx.fail(i, "Exceeds the limit (%d digits) for integer string conversion: value has %d digits", maxStrDigits, len(text))
		}
		if len(text) > 4*maxStrDigits {
			return locate(budgetErr("the number has too many digits"), lx.src, pos(i))
		}
		t.num, _ = new(big.Int).SetString(text, base)
	}
	lx.emit(t)
	lx.at = end
	return nil
}

// scanDigits reads digits with optional single underscores between them.
func scanDigits(s string, i int, ok func(byte) bool) int {
	for i < len(s) {
		switch {
		case ok(s[i]):
			i++
		case s[i] == '_' && i+1 < len(s) && ok(s[i+1]):
			i += 2
		default:
			return i
		}
	}
	return i
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

func scanFloat(s string, i int) (int, bool) {
	i = scanDigits(s, i, isDecimal)
	found := false
	if i+1 < len(s) && s[i] == '.' && isDecimal(s[i+1]) {
		i = scanDigits(s, i+1, isDecimal)
		found = true
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDecimal(s[j]) {
			return scanDigits(s, j, isDecimal), true
		}
	}
	return i, found
}

func scanInteger(s string, i int) (end, base int) {
	if s[i] != '0' {
		return scanDigits(s, i, isDecimal), 10
	}
	if i+1 < len(s) {
		var ok func(byte) bool
		base := 0
		switch s[i+1] {
		case 'b', 'B':
			base, ok = 2, func(c byte) bool { return c == '0' || c == '1' }
		case 'o', 'O':
			base, ok = 8, func(c byte) bool { return c >= '0' && c <= '7' }
		case 'x', 'X':
			base, ok = 16, func(c byte) bool {
				return isDecimal(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
			}
		}
		if base != 0 {
			if end := scanDigits(s, i+2, ok); end > i+2 {
				return end, base
			}
		}
	}
	return scanDigits(s, i, func(c byte) bool { return c == '0' }), 10
}

// str reads a string literal; lx.at is at the opening quote.
func (lx *lexer) str(quote byte) error {
	s, start := lx.src.text, lx.at
	i := start + 1
	escaped := false
	for ; ; i++ {
		if i >= len(s) {
			return lx.fail(start, "unexpected char %s at %d", reprStr(string(rune(quote))), utf8.RuneCountInString(s[:start]))
		}
		if s[i] == '\\' {
			escaped = true
			i++
			continue
		}
		if s[i] == quote {
			break
		}
	}
	text := s[start+1 : i]
	if escaped {
		var err error
		if text, err = unescape(text); err != nil {
			return lx.fail(start, "%s", err.Error())
		}
	}
	lx.emit(token{kind: tokString, pos: pos(start), text: text})
	lx.at = i + 1
	return nil
}

// unescape resolves the escapes of a string literal as Python's unicode-escape codec does.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' {
			b.WriteByte(c)
			i++
			continue
		}
		i++
		c = s[i]
		if c >= utf8.RuneSelf {
			// The codec sees the escape for the character, after a backslash.
			r, n := utf8.DecodeRuneInString(s[i:])
			b.WriteByte('\\')
			switch {
			case r < 0x100:
				fmt.Fprintf(&b, "x%02x", r)
			case r < 0x10000:
				fmt.Fprintf(&b, "u%04x", r)
			default:
				fmt.Fprintf(&b, "U%08x", r)
			}
			i += n
			continue
		}
		i++
		if k := strings.IndexByte("abfnrtv\\'\"", c); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\\'\""[k])
			continue
		}
		switch {
		case c == '\n':
		case c >= '0' && c <= '7':
			n := rune(c - '0')
			for k := 0; k < 2 && i < len(s) && s[i] >= '0' && s[i] <= '7'; k++ {
				n = n<<3 | rune(s[i]-'0')
				i++
			}
			b.WriteRune(n)
		case c == 'x' || c == 'u' || c == 'U':
			r, next, err := hexEscape(s, i, c)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i = next
		case c == 'N':
			r, next, err := nameEscape(s, i)
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i = next
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// nameEscape reads the {name} of \N{name} at i.
func nameEscape(s string, i int) (r rune, next int, err error) {
	end := strings.IndexByte(s[i:], '}')
	if end < 2 || s[i] != '{' {
		return 0, 0, fmt.Errorf("malformed \\N character escape")
	}
	r, ok := characterByName(s[i+1 : i+end])
	if !ok {
		return 0, 0, fmt.Errorf("unknown Unicode character name")
	}
	return r, i + end + 1, nil
}

func hexEscape(s string, i int, c byte) (rune, int, error) {
	width, form := 2, "\\xXX"
	switch c {
	case 'u':
		width, form = 4, "\\uXXXX"
	case 'U':
		width, form = 8, "\\UXXXXXXXX"
	}
	if i+width > len(s) {
		return 0, 0, fmt.Errorf("truncated %s escape", form)
	}
	n, err := strconv.ParseUint(s[i:i+width], 16, 32)
	if err != nil || strings.ContainsAny(s[i:i+width], "_+-") {
		return 0, 0, fmt.Errorf("truncated %s escape", form)
	}
	if n > utf8.MaxRune {
		return 0, 0, fmt.Errorf("illegal Unicode character")
	}
	r, next := rune(n), i+width
	if utf16.IsSurrogate(r) && next+6 <= len(s) && s[next] == '\\' && s[next+1] == 'u' {
		if low, err := strconv.ParseUint(s[next+2:next+6], 16, 32); err == nil {
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				return pair, next + 6, nil
			}
		}
	}
	return r, next, nil
}
