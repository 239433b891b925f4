package events

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Values are the alternatives of a ResourceSpecification for one label: one of them must match. Without values nothing
// matches.
type Values []Value

// Value is a glob: "*" matches any sequence of characters, also an empty one, and "?" matches one. Every other
// character, also a bracket, matches itself.
type Value struct {
	Glob string
	// Unwanted negates the glob: it started with "!".
	Unwanted bool
}

// LabelValues parses the values of one label.
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

// Met reports whether a label value matches one of the values.
func (v Values) Met(value string) bool {
	return slices.ContainsFunc(v, func(one Value) bool { return one.matches(value) != one.Unwanted })
}

// Exact reports whether the value matches exactly one text.
func (v Value) Exact() bool { return !strings.ContainsAny(v.Glob, "*?") }

// Prefix returns the common prefix of all matching texts if the value has no other condition.
func (v Value) Prefix() (string, bool) {
	prefix, wild := strings.CutSuffix(v.Glob, "*")
	return prefix, wild && !strings.ContainsAny(prefix, "*?")
}

// Pattern returns the regular expression of the value, for RE2 and PCRE alike.
func (v Value) Pattern() string {
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := v.Glob; rest != ""; {
		at := strings.IndexAny(rest, "*?")
		if at < 0 {
			at = len(rest)
		}
		// A pattern cannot contain a NUL byte, but it can escape one.
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

// matches scans the text once: after a mismatch, the last "*" matches one more character.
func (v Value) matches(text string) bool {
	glob := v.Glob
	behindStar, taken := "", "" // The glob after the last "*", and the text that it has not matched yet.
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
