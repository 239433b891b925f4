package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textPaths are where an event is searched: its name, the values (not the names) of its resources' labels, and its
// payload as it was sent, names and escapes included.
var textPaths = []string{"event", "resource.v", "related.labels.v", "payload"}

// textQuery is a parsed text query.
type textQuery struct{ anyOf, allOf, noneOf []string }

// compileText compiles the little language of text queries. Terms are separated by blanks; a phrase in double quotes is
// one term, in which \" and \\ stand for the second character. One of the plain terms must occur, every term after "+",
// and none after "-" or "!". Terms are parts of texts, in any case. A query without terms says nothing.
func compileText(query string) (node, error) {
	q := parseText(query)
	kids := []node{always{}}
	anyOf := make([]node, len(q.anyOf))
	for i, term := range q.anyOf {
		n, err := occurs(term)
		if err != nil {
			return nil, err
		}
		anyOf[i] = n
	}
	kids = append(kids, or(anyOf...))
	for _, term := range q.allOf {
		n, err := occurs(term)
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	for _, term := range q.noneOf {
		pattern, err := literal(term)
		if err != nil {
			return nil, err
		}
		for _, path := range textPaths {
			kids = append(kids, match{{Key: path, Value: not(regex(path, pattern, "i"))}})
		}
	}
	return and(kids...), nil
}

// occurs matches events that hold a term anywhere.
func occurs(term string) (node, error) {
	kids := make([]node, len(textPaths))
	for i, path := range textPaths {
		n, err := contains(path, term)
		if err != nil {
			return nil, err
		}
		kids[i] = n
	}
	return or(kids...), nil
}

func parseText(s string) textQuery {
	var q textQuery
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			s = s[size:]
			continue
		}
		to := &q.anyOf
		if strings.ContainsRune("-!+", r) {
			s = s[size:]
			// A sign that stands alone means nothing.
			if next, _ := utf8.DecodeRuneInString(s); s == "" || unicode.IsSpace(next) {
				continue
			}
			to = &q.noneOf
			if r == '+' {
				to = &q.allOf
			}
		}
		var term string
		if strings.HasPrefix(s, `"`) {
			term, s = phrase(s[1:])
		} else {
			end := strings.IndexFunc(s, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if end < 0 {
				end = len(s)
			}
			term, s = s[:end], s[end:]
		}
		if strings.TrimSpace(term) != "" {
			*to = append(*to, term)
		}
	}
	return q
}

// phrase reads to the closing quote, or to the end if there is none.
func phrase(s string) (term, rest string) {
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
