package match

import "strings"

// Glob is a compiled pattern over all of a text: "*" fits any run of characters, "?" one of them, "[ab]", "[a-c]" and
// "[!ab]" one of a set. A bracket that is never closed stands for itself, and so does a backslash.
type Glob struct {
	exact  string // The whole text, when literal.
	parts  []part
	simple bool
}

type part struct {
	kind   partKind
	char   rune
	negate bool
	ranges [][2]rune
}

type partKind int

const (
	literal partKind = iota
	anyRun
	anyOne
	set
)

// CompileGlob compiles a pattern. Every text is a pattern.
func CompileGlob(pattern string) Glob {
	if !strings.ContainsAny(pattern, "*?[") {
		return Glob{exact: pattern, simple: true}
	}
	var g Glob
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*':
			if n := len(g.parts); n == 0 || g.parts[n-1].kind != anyRun {
				g.parts = append(g.parts, part{kind: anyRun})
			}
		case '?':
			g.parts = append(g.parts, part{kind: anyOne})
		case '[':
			p, next, ok := compileSet(runes, i)
			if !ok {
				g.parts = append(g.parts, part{kind: literal, char: c})
				continue
			}
			g.parts = append(g.parts, p)
			i = next
		default:
			g.parts = append(g.parts, part{kind: literal, char: c})
		}
	}
	return g
}

// compileSet compiles the set that begins at i, and returns where it ends.
func compileSet(runes []rune, i int) (p part, last int, ok bool) {
	j := i + 1
	p = part{kind: set}
	if j < len(runes) && runes[j] == '!' {
		p.negate = true
		j++
	}
	first := j
	if j < len(runes) && runes[j] == ']' {
		j++
	}
	for j < len(runes) && runes[j] != ']' {
		j++
	}
	if j >= len(runes) {
		return part{}, 0, false
	}
	content := runes[first:j]
	for k := 0; k < len(content); k++ {
		if k+2 < len(content) && content[k+1] == '-' {
			if content[k] <= content[k+2] { // A range the wrong way round is empty.
				p.ranges = append(p.ranges, [2]rune{content[k], content[k+2]})
			}
			k += 2
			continue
		}
		p.ranges = append(p.ranges, [2]rune{content[k], content[k]})
	}
	return p, j, true
}

func (p *part) fits(c rune) bool {
	switch p.kind {
	case literal:
		return p.char == c
	case anyOne:
		return true
	default:
		for _, r := range p.ranges {
			if r[0] <= c && c <= r[1] {
				return !p.negate
			}
		}
		return p.negate
	}
}

// Fits reports whether the pattern fits all of a text. It takes time in proportion to the product of both lengths at most.
func (g *Glob) Fits(text string) bool {
	if g.simple {
		return g.exact == text
	}
	runes := []rune(text)
	p, t, star, mark := 0, 0, -1, 0
	for t < len(runes) {
		switch {
		case p < len(g.parts) && g.parts[p].kind == anyRun:
			star, mark = p, t
			p++
		case p < len(g.parts) && g.parts[p].fits(runes[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(g.parts) && g.parts[p].kind == anyRun {
		p++
	}
	return p == len(g.parts)
}

// Exact returns the one text that the pattern fits, if there is only one.
func (g *Glob) Exact() (string, bool) { return g.exact, g.simple }
