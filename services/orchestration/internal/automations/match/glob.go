package match

import (
	"strings"
	"unicode/utf8"
)

// Glob is a pattern over all of a text: "*" fits any run of characters, "?" one of them, "[ab]", "[a-c]" and "[!ab]" one of a set. A
// bracket that is never closed stands for itself, and so does a backslash. It holds little more than the pattern: users send many long ones.
type Glob struct {
	pattern string // Each bracket in it begins a set, if sets is true.
	sets    bool   // "?" and sets are special, beside "*".
	exact   bool   // No character is special.
	// special is the length of the longest segment with "?" or sets, each place of which may be compared with each character of a text.
	special int
}

// CompileGlob compiles a pattern. Every text is a pattern.
func CompileGlob(pattern string) Glob {
	if !strings.ContainsAny(pattern, "?[") {
		return CompileStars(pattern)
	}
	var closed strings.Builder
	for rest := pattern; rest != ""; {
		n := 1
		if rest[0] == '[' {
			if n = setLength(rest); n == 0 {
				closed.WriteString("[[]")
				rest = rest[1:]
				continue
			}
		}
		closed.WriteString(rest[:n])
		rest = rest[n:]
	}
	g := Glob{pattern: closed.String(), sets: true}
	for rest, more := g.pattern, true; more; {
		var s segment
		if s, rest, more = g.cutSegment(rest); !s.literal {
			g.special = max(g.special, len(s.pattern))
		}
	}
	return g
}

// CompileStars compiles a pattern in which "*" alone is special.
func CompileStars(pattern string) Glob {
	return Glob{pattern: pattern, exact: !strings.Contains(pattern, "*")}
}

// Exact returns the one text that the pattern fits, if there is only one.
func (g *Glob) Exact() (string, bool) {
	if !g.exact {
		return "", false
	}
	return g.pattern, true
}

// Fits reports whether the pattern fits all of a text. It takes time in proportion to the sum of both lengths, and for a pattern with "?" or
// sets to their product at most.
func (g *Glob) Fits(text string) bool {
	if g.exact {
		return g.pattern == text
	}
	s, rest, more := g.cutSegment(g.pattern)
	text, ok := s.cutFrom(text)
	for ok && more {
		if s, rest, more = g.cutSegment(rest); !more {
			return s.ends(text)
		}
		text, ok = s.find(text)
	}
	return ok && text == ""
}

// fits is Fits with its effort.
func (g *Glob) fits(text string, e *effort) bool {
	n := len(g.pattern)
	if !g.exact {
		n += len(text) * max(1, specialEffort*g.special)
	} else if n != len(text) {
		n = 1
	}
	return e.spend(n) && g.Fits(text)
}

// segment is the part of a pattern between two "*".
type segment struct {
	pattern string
	literal bool // No character of it is special.
}

// cutSegment returns the first segment of a pattern, what follows its "*", and whether there is one.
func (g *Glob) cutSegment(pattern string) (s segment, rest string, more bool) {
	s.literal = true
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			s.pattern = pattern[:i]
			return s, pattern[i+1:], true
		case g.sets && c == '?':
			s.literal = false
		case g.sets && c == '[':
			s.literal = false
			i += setLength(pattern[i:]) - 1
		}
	}
	s.pattern = pattern
	return s, "", false
}

// cutFrom returns what follows the segment at the beginning of a text, and whether it is there.
func (s segment) cutFrom(text string) (rest string, ok bool) {
	if s.literal {
		return strings.CutPrefix(text, s.pattern)
	}
	for pattern := s.pattern; pattern != ""; {
		if text == "" {
			return "", false
		}
		c, size := utf8.DecodeRuneInString(text)
		if pattern, ok = fitsOne(pattern, c); !ok {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}

// find returns what follows the first occurrence of the segment in a text, and whether there is one.
func (s segment) find(text string) (rest string, ok bool) {
	if s.literal {
		_, rest, ok = strings.Cut(text, s.pattern)
		return rest, ok
	}
	for {
		if rest, ok = s.cutFrom(text); ok || text == "" {
			return rest, ok
		}
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
}

// ends reports whether a text ends with the segment.
func (s segment) ends(text string) bool {
	if s.literal {
		return strings.HasSuffix(text, s.pattern)
	}
	begin := len(text)
	for pattern := s.pattern; pattern != ""; pattern, _ = fitsOne(pattern, 0) { // Each character of the text fits one part of the pattern.
		if begin == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(text[:begin])
		begin -= size
	}
	_, ok := s.cutFrom(text[begin:])
	return ok
}

// fitsOne reports whether a character fits the beginning of a pattern, and returns the rest of the pattern.
func fitsOne(pattern string, c rune) (rest string, ok bool) {
	switch pattern[0] {
	case '?':
		return pattern[1:], true
	case '[':
		n := setLength(pattern)
		return pattern[n:], inSet(pattern[1:n-1], c)
	}
	want, size := utf8.DecodeRuneInString(pattern)
	return pattern[size:], want == c
}

// setLength returns the length of the set at the beginning of a pattern in bytes; 0 if it is never closed.
func setLength(pattern string) int {
	i := 1
	if i < len(pattern) && pattern[i] == '!' {
		i++
	}
	if i < len(pattern) && pattern[i] == ']' {
		i++
	}
	end := strings.IndexByte(pattern[i:], ']')
	if end < 0 {
		return 0
	}
	return i + end + 1
}

// inSet reports whether a character is in a set, given without its brackets.
func inSet(set string, c rune) bool {
	set, negate := strings.CutPrefix(set, "!")
	for set != "" {
		first, size := utf8.DecodeRuneInString(set)
		last := first
		set = set[size:]
		if len(set) > 1 && set[0] == '-' { // A range the wrong way round is empty.
			last, size = utf8.DecodeRuneInString(set[1:])
			set = set[1+size:]
		}
		if first <= c && c <= last {
			return !negate
		}
	}
	return negate
}
