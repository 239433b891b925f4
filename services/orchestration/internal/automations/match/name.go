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
func (n *names) covers(name string, e *effort) bool {
	if len(n.expect) == 0 {
		return true
	}
	for i := range n.globs {
		if n.globs[i].fits(name, e) {
			return true
		}
	}
	return false
}

func (n *names) expects(name string, e *effort) bool {
	return len(n.expect) == 0 || anyPrefix(n.expect, name, e)
}

func (n *names) starts(name string, e *effort) bool { return anyPrefix(n.after, name, e) }

func anyPrefix(patterns []string, name string, e *effort) bool {
	for _, pattern := range patterns {
		if e.spend(len(pattern)+len(name)) && prefixFits(pattern, name) {
			return true
		}
	}
	return false
}

// prefixFits reports whether some beginning of a name is what the pattern says. Each literal part is looked for where it
// occurs first, which is enough since the end is free.
func prefixFits(pattern, name string) bool {
	part, pattern, more := strings.Cut(pattern, "*")
	rest, ok := strings.CutPrefix(name, part)
	if !ok {
		return false
	}
	for more {
		if rest == "" {
			return false
		}
		part, pattern, more = strings.Cut(pattern, "*")
		_, size := utf8.DecodeRuneInString(rest)
		i := strings.Index(rest[size:], part)
		if i < 0 {
			return false
		}
		rest = rest[size+i+len(part):]
	}
	return true
}
