package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Visible replaces characters that would hide or reorder text: controls, bidirectional overrides and other invisible
// format characters appear as "⟨U+202E⟩". Tabs and line feeds stay.
func Visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		if hidden(c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// hidden reports whether a character shows nothing by itself. The joiner of emoji stays.
func hidden(c rune) bool {
	const zeroWidthJoiner = '\u200D'
	return c != '\t' && c != '\n' && c != zeroWidthJoiner && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c))
}

// Line returns the first line of a text, cut to a number of characters.
func Line(text string, length int) string {
	text = strings.TrimSpace(text)
	if line, _, found := strings.Cut(text, "\n"); found {
		text = line + " …"
	}
	return Middle(Visible(text), length)
}

// Middle cuts a text in its middle to a number of characters.
func Middle(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	runes := []rune(text)
	head := (length - 1) * 2 / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(length-1-head):])
}

// Prefix returns the longest prefix of at most a number of bytes that does not cut a character.
func Prefix(text string, length int) string {
	if len(text) <= length {
		return text
	}
	for length > 0 && !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length]
}

// Count formats a number with thousands separated: "1,932".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	negative := strings.HasPrefix(digits, "-")
	digits = strings.TrimPrefix(digits, "-")
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// CountUpTo formats a number of which only the first most+1 were counted: "10,000+" beyond most.
func CountUpTo(n, most int64) string {
	if n > most {
		return Count(most) + "+"
	}
	return Count(n)
}

// Rate formats a number of things within a time as a number a minute: "0.3", "41".
func Rate(n int64, within time.Duration) string {
	rate := float64(n) / max(within.Minutes(), 1e-9)
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return Count(int64(rate))
}

// Plural returns "1 run" or "1,204 runs".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Bytes formats a size: "512 B", "1.4 kB", "3.2 MB".
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Digits formats a number for an address.
func Digits(n int) string { return strconv.Itoa(n) }
