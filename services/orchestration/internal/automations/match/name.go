package match

import (
	"strings"
	"unicode/utf8"
)

// names selects events by name. A name must match one pattern of both lists as a glob. It must also match one of the
// list in question as a prefix, in which only "*" is special and stands for at least one character: "a.*" takes "a.b",
// not "a.".
type names struct {
	globs         []Glob
	expect, after []string
}

func compileNames(expect, after []string) names {
	n := names{expect: expect, after: after}
	for _, list := range [][]string{expect, after} {
		for _, pattern := range list {
			n.globs = append(n.globs, CompileGlob(pattern))
		}
	}
	return n
}

// covers reports whether events of a name are looked at.
func (n *names) covers(name string) bool {
	if len(n.expect) == 0 {
		return true
	}
	for i := range n.globs {
		if n.globs[i].Fits(name) {
			return true
		}
	}
	return false
}

func (n *names) expects(name string) bool {
	return len(n.expect) == 0 || anyPrefix(n.expect, name)
}

func (n *names) starts(name string) bool { return anyPrefix(n.after, name) }

func anyPrefix(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if prefixFits(pattern, name) {
			return true
		}
	}
	return false
}

// prefixFits reports whether some beginning of a name is what the pattern says. Each literal part is looked for where it
// occurs first, which is enough since the end is free.
func prefixFits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:] {
		if rest == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(rest)
		i := strings.Index(rest[size:], part)
		if i < 0 {
			return false
		}
		rest = rest[size+i+len(part):]
	}
	return true
}
