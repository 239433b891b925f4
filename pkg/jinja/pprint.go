package jinja

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// pprintWidth is the line width of Python's pprint.
const pprintWidth = 80

func filterPPrint(rt *state, a []Value) (Value, error) {
	p := &prettyPrinter{rt: rt}
	err := p.format(a[0], 0, 0, 0)
	return strValue(p.b.String()), err
}

// prettyPrinter splits the repr of a value into lines: one item a line if a container is too wide.
type prettyPrinter struct {
	rt *state
	b  strings.Builder
}

func (p *prettyPrinter) write(s string) error {
	p.b.WriteString(s)
	return p.rt.charge(2 * len(s))
}

// repr is repr with the keys of dicts sorted.
func (p *prettyPrinter) repr(v Value) (string, error) {
	sorted, err := p.sortDicts(v)
	if err != nil {
		return "", err
	}
	return p.rt.repr(sorted)
}

func (p *prettyPrinter) sortDicts(v Value) (Value, error) {
	if err := p.rt.nest(); err != nil {
		return nil, err
	}
	defer p.rt.unnest()
	each := func(items []Value) ([]Value, error) {
		if err := p.rt.chargeTimes(len(items), sizeValue); err != nil {
			return nil, err
		}
		out := make([]Value, len(items))
		for i, it := range items {
			var err error
			if out[i], err = p.sortDicts(it); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch v := v.(type) {
	case *listValue:
		items, err := each(v.items)
		return &listValue{items}, err
	case *tupleValue:
		if v.fields != nil {
			return v, nil
		}
		items, err := each(v.items)
		return newTuple(items), err
	case *dictValue:
		order := p.order(v)
		if err := p.rt.chargeTimes(len(order), sizeEntry); err != nil {
			return nil, err
		}
		d := newDict(len(order))
		for _, i := range order {
			val, err := p.sortDicts(v.vals[i])
			if err != nil {
				return nil, err
			}
			_ = d.set(v.keys[i], val)
		}
		return d, nil
	}
	return v, nil
}

// order returns the indices of a dict's entries by key; keys that do not compare are ordered by type.
func (p *prettyPrinter) order(d *dictValue) []int {
	order := make([]int, len(d.keys))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := d.keys[order[i]], d.keys[order[j]]
		less, err := p.rt.order(opLt, a, b)
		if err != nil {
			return a.typeName() < b.typeName()
		}
		return less
	})
	return order
}

// format writes v at a column. allowance is the length of the text after it on its last line.
func (p *prettyPrinter) format(v Value, indent, allowance, level int) error {
	if err := p.rt.nest(); err != nil {
		return err
	}
	defer p.rt.unnest()
	rep, err := p.repr(v)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(rep) > pprintWidth-indent-allowance {
		switch v := v.(type) {
		case *dictValue:
			return p.dict(v, indent, allowance, level+1)
		case *listValue:
			return p.items(v.items, "[", "]", indent, allowance, level+1)
		case *tupleValue:
			if v.fields == nil {
				end := ")"
				if len(v.items) == 1 {
					end = ",)"
				}
				return p.items(v.items, "(", end, indent, allowance, level+1)
			}
		case strValue:
			if v != "" {
				return p.text(string(v), indent, allowance, level+1)
			}
		}
	}
	return p.write(rep)
}

func (p *prettyPrinter) newline(indent int) error {
	if err := p.rt.charge(2 * indent); err != nil {
		return err
	}
	return p.write("\n" + strings.Repeat(" ", indent))
}

func (p *prettyPrinter) items(items []Value, open, end string, indent, allowance, level int) error {
	if err := p.write(open); err != nil {
		return err
	}
	indent++
	for i, it := range items {
		after := 1
		if i == len(items)-1 {
			after = allowance + len(end)
		}
		if i > 0 {
			if err := p.write(","); err != nil {
				return err
			}
			if err := p.newline(indent); err != nil {
				return err
			}
		}
		if err := p.format(it, indent, after, level); err != nil {
			return err
		}
	}
	return p.write(end)
}

func (p *prettyPrinter) dict(d *dictValue, indent, allowance, level int) error {
	if err := p.write("{"); err != nil {
		return err
	}
	indent++
	for n, i := range p.order(d) {
		after := 1
		if n == len(d.keys)-1 {
			after = allowance + 1
		}
		if n > 0 {
			if err := p.write(","); err != nil {
				return err
			}
			if err := p.newline(indent); err != nil {
				return err
			}
		}
		key, err := p.repr(d.keys[i])
		if err != nil {
			return err
		}
		if err := p.write(key + ": "); err != nil {
			return err
		}
		if err := p.format(d.vals[i], indent+utf8.RuneCountInString(key)+2, after, level); err != nil {
			return err
		}
	}
	return p.write("}")
}

// text splits a long str into several literals, at line ends and after white space.
func (p *prettyPrinter) text(s string, indent, allowance, level int) error {
	if level == 1 {
		indent++
		allowance++
	}
	lines := splitLines(s, true)
	width := pprintWidth - indent
	var chunks []string
	rep := ""
	for i, line := range lines {
		last := i == len(lines)-1
		rep = reprStr(line)
		room := width
		if last {
			room -= allowance
		}
		if utf8.RuneCountInString(rep) <= room {
			chunks = append(chunks, rep)
			continue
		}
		if err := p.rt.charge(4 * len(line)); err != nil {
			return err
		}
		parts := spacedWords(line)
		cur := ""
		room = width
		for j, part := range parts {
			if err := p.rt.work(1 + len(cur)/16); err != nil {
				return err
			}
			if j == len(parts)-1 && last {
				room -= allowance
			}
			if utf8.RuneCountInString(reprStr(cur+part)) > room {
				if cur != "" {
					chunks = append(chunks, reprStr(cur))
				}
				cur = part
			} else {
				cur += part
			}
		}
		if cur != "" {
			chunks = append(chunks, reprStr(cur))
		}
	}
	if len(chunks) == 1 {
		return p.write(rep)
	}
	if level == 1 {
		if err := p.write("("); err != nil {
			return err
		}
	}
	for i, c := range chunks {
		if i > 0 {
			if err := p.newline(indent); err != nil {
				return err
			}
		}
		if err := p.write(c); err != nil {
			return err
		}
	}
	if level == 1 {
		return p.write(")")
	}
	return nil
}

// spacedWords splits a text into words with the white space after them.
func spacedWords(s string) []string {
	var out []string
	for s != "" {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 {
			return append(out, s)
		}
		n := strings.IndexFunc(s[i:], func(r rune) bool { return !isSpace(r) })
		if n < 0 {
			return append(out, s)
		}
		out = append(out, s[:i+n])
		s = s[i+n:]
	}
	return out
}
