package events

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Values are what a ResourceSpecification asks of one label: that one of them is met. A label of which no value is named
// is met by nothing.
type Values []Value

// Value is a text in which "*" stands for any characters, none included, and "?" for one. Every other character,
// brackets included, stands for itself.
type Value struct {
	Glob string
	// Unwanted asks for all but what the text stands for: it started with "!".
	Unwanted bool
}

// LabelValues reads the values of one label.
func LabelValues(spec *orchv1.StringOrList) Values {
	texts := spec.GetList().GetValues()
	if s, ok := spec.GetKind().(*orchv1.StringOrList_StringValue); ok {
		texts = []string{s.StringValue}
	}
	values := make(Values, len(texts))
	for i, text := range texts {
		values[i].Glob, values[i].Unwanted = strings.CutPrefix(text, "!")
	}
	return values
}

// Met tells whether a label with that value meets one of the values.
func (v Values) Met(value string) bool {
	return slices.ContainsFunc(v, func(one Value) bool { return one.matches(value) != one.Unwanted })
}

// Exact tells whether the value stands for one text only.
func (v Value) Exact() bool { return !strings.ContainsAny(v.Glob, "*?") }

// Prefix answers how all begin that the value stands for, if that is all that it says of them.
func (v Value) Prefix() (string, bool) {
	prefix, wild := strings.CutSuffix(v.Glob, "*")
	return prefix, wild && !strings.ContainsAny(prefix, "*?")
}

// Pattern is a regular expression, for RE2 and PCRE alike, of what the value stands for.
func (v Value) Pattern() string {
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := v.Glob; rest != ""; {
		at := strings.IndexAny(rest, "*?")
		if at < 0 {
			at = len(rest)
		}
		// A pattern cannot hold a NUL byte, but it can name one.
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(rest[:at]), "\x00", `\x00`))
		if rest = rest[at:]; rest == "" {
			break
		}
		b.WriteString(map[byte]string{'*': `[\s\S]*`, '?': `[\s\S]`}[rest[0]])
		rest = rest[1:]
	}
	b.WriteString(`\z`)
	return b.String()
}

// matches walks along the text once: where it does not fit, the last "*" takes one character more.
func (v Value) matches(text string) bool {
	glob := v.Glob
	behindStar, taken := "", "" // What follows the last "*", and the text from what it has not taken yet.
	starred := false
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		switch {
		case strings.HasPrefix(glob, "*"):
			glob = glob[1:]
			behindStar, taken, starred = glob, text, true
		case strings.HasPrefix(glob, "?"):
			glob, text = glob[1:], text[size:]
		case strings.HasPrefix(glob, text[:size]):
			glob, text = glob[size:], text[size:]
		case starred:
			_, size := utf8.DecodeRuneInString(taken)
			taken = taken[size:]
			glob, text = behindStar, taken
		default:
			return false
		}
	}
	return strings.Trim(glob, "*") == ""
}
