package filter

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a compiled regular expression. Searches for a text, which most queries make, need no automaton:
//
//	text           contains the text
//	^text          begins with it
//	a[\s\S]*b      contains both, in this order
//
// Each may ignore case.
type pattern struct {
	re *regexp.Regexp
	// texts are those of such a pattern, in order; nil for all others.
	texts    [][]byte
	anchored bool
	// fold means that texts are in lower case, and that case is ignored.
	fold bool
	// wide means that a text has a letter whose other case is not ASCII: k and s match the signs K (Kelvin) and ſ.
	wide bool
}

// compilePattern compiles an expression; flags are in its own syntax.
func compilePattern(expression string) (*pattern, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller names the expression.
	}
	p := &pattern{re: re}
	if tree, err := syntax.Parse(expression, syntax.Perl); err == nil {
		p.readTexts(tree.Simplify())
	}
	return p, nil
}

// readTexts sets the texts if the expression is a search for texts.
func (p *pattern) readTexts(tree *syntax.Regexp) {
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		p.anchored, parts = true, parts[1:]
	}
	var texts [][]byte
	for i, part := range parts {
		if i%2 == 1 {
			if part.Op != syntax.OpStar || !isAnything(part.Sub[0]) {
				return
			}
			continue
		}
		fold := part.Flags&syntax.FoldCase != 0
		if part.Op != syntax.OpLiteral || i > 0 && fold != p.fold || slices.Contains(part.Rune, utf8.RuneError) {
			return
		}
		p.fold = fold
		text := string(part.Rune)
		if fold {
			text = strings.ToLower(text)
			for _, r := range part.Rune {
				if r >= utf8.RuneSelf {
					return
				}
				for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
					p.wide = p.wide || other >= utf8.RuneSelf
				}
			}
		}
		texts = append(texts, []byte(text))
	}
	if len(parts)%2 == 1 {
		p.texts = texts
	}
}

// isAnything reports whether an expression matches every character.
func isAnything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpCharClass && slices.Equal(re.Rune, []rune{0, unicode.MaxRune})
}

// match reports whether the pattern occurs in a value.
func (p *pattern) match(b []byte) bool {
	if p.texts == nil {
		return p.re.Match(b)
	}
	rest := b
	for i, text := range p.texts {
		at := p.index(rest, text, p.anchored && i == 0)
		if at < 0 {
			// Bytes of longer characters are never ASCII, so only those that fold to ASCII can match in another way.
			return p.wide && (bytes.Contains(b, kelvin) || bytes.Contains(b, longS)) && p.re.Match(b)
		}
		rest = rest[at+len(text):]
	}
	return true
}

var kelvin, longS = []byte("\u212a"), []byte("\u017f")

// index returns where a text occurs first; -1 when it does not. An anchored text occurs at the beginning only.
func (p *pattern) index(b, text []byte, anchored bool) int {
	switch {
	case anchored && (len(b) < len(text) || !p.equal(b[:len(text)], text)):
		return -1
	case anchored:
		return 0
	case !p.fold:
		return bytes.Index(b, text)
	}
	for i := 0; i <= len(b)-len(text); i++ {
		if lower(b[i]) == text[0] && p.equal(b[i:i+len(text)], text) {
			return i
		}
	}
	return -1
}

// equal compares bytes with a text of the same length.
func (p *pattern) equal(b, text []byte) bool {
	if !p.fold {
		return bytes.Equal(b, text)
	}
	for i, c := range b {
		if lower(c) != text[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
