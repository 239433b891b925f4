package events

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a parsed text query. A term matches a part of a text, ignoring case. One of AnyOf must occur if there are
// any, all of AllOf, and none of NoneOf. Events are searched in the name, in the label values of the resources, and in
// the payload as sent, with names and escapes. Label names are not searched.
type Text struct{ AnyOf, AllOf, NoneOf []string }

// ParseText parses a text query. Terms are separated by spaces; a phrase in double quotes is one term, in which \" and
// \\ escape the second character. A term after "+" must occur, a term after "-" or "!" must not. One of the plain terms
// must occur. A query without terms matches everything.
func ParseText(s string) Text {
	var q Text
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			s = s[size:]
			continue
		}
		to := &q.AnyOf
		if strings.ContainsRune("-!+", r) {
			s = s[size:]
			// A sign without a term has no effect.
			if next, _ := utf8.DecodeRuneInString(s); s == "" || unicode.IsSpace(next) {
				continue
			}
			to = &q.NoneOf
			if r == '+' {
				to = &q.AllOf
			}
		}
		var word string
		if strings.HasPrefix(s, `"`) {
			word, s = phrase(s[1:])
		} else {
			end := strings.IndexFunc(s, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if end < 0 {
				end = len(s)
			}
			word, s = s[:end], s[end:]
		}
		if strings.TrimSpace(word) != "" {
			*to = append(*to, word)
		}
	}
	return q
}

// phrase reads to the closing quote, or to the end if there is none.
func phrase(s string) (word, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// TextMatcher is a compiled text query.
type TextMatcher struct{ anyOf, allOf, noneOf []*regexp.Regexp }

// Compile compiles the query.
func (q Text) Compile() TextMatcher {
	return TextMatcher{patterns(q.AnyOf), patterns(q.AllOf), patterns(q.NoneOf)}
}

func patterns(terms []string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(terms))
	for i, word := range terms {
		all[i] = regexp.MustCompile("(?i)" + regexp.QuoteMeta(word))
	}
	return all
}

// Empty reports whether the query has no terms, and so matches everything.
func (m TextMatcher) Empty() bool { return len(m.anyOf)+len(m.allOf)+len(m.noneOf) == 0 }

// Match calls occurs for as many terms as it needs, and reports whether the query matches.
func (m TextMatcher) Match(occurs func(word *regexp.Regexp) bool) bool {
	return (len(m.anyOf) == 0 || slices.ContainsFunc(m.anyOf, occurs)) && !slices.ContainsFunc(m.noneOf, occurs) &&
		!slices.ContainsFunc(m.allOf, func(word *regexp.Regexp) bool { return !occurs(word) })
}
