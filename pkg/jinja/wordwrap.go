package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// filterWordWrap wraps each line of a text as Python's textwrap does, without changing white space.
func filterWordWrap(rt *state, a []Value) (Value, error) {
	sep := "\n"
	if given(a[3]) {
		var ok bool
		if sep, ok = asText(a[3]); !ok {
			if u, isU := a[3].(*undefinedValue); isU && u.mode != Chainable {
				return nil, u.fail()
			}
			return nil, attributeErr("'%s' object has no attribute 'join'", a[3].typeName())
		}
	}
	s, ok := asText(a[0])
	if !ok {
		if u, isU := a[0].(*undefinedValue); isU {
			return nil, u.fail()
		}
		return nil, attributeErr("'%s' object has no attribute 'splitlines'", a[0].typeName())
	}
	w := &wrapper{rt: rt, width: 79}
	var err error
	if w.breakWords, err = rt.flag(a[2], true); err != nil {
		return nil, err
	}
	// Hyphens break words only when the argument is True itself, as textwrap tests it.
	w.hyphens = a[4] == nil || a[4] == valTrue
	w.hyphensLong, err = rt.flag(a[4], true)
	if err != nil {
		return nil, err
	}
	_, markup := a[3].(markupValue)
	if err := rt.charge(3 * len(s)); err != nil {
		return nil, err
	}
	var out []string
	for _, line := range splitLines(s, false) {
		lines, err := w.wrap(line, a[1])
		if err != nil {
			return nil, err
		}
		if err := rt.chargeTimes(len(lines)+1, 2*len(sep)+sizeValue); err != nil {
			return nil, err
		}
		out = append(out, strings.Join(lines, sep))
	}
	return strLike(strings.Join(out, sep), markup), nil
}

type wrapper struct {
	rt          *state
	width       int
	breakWords  bool
	hyphens     bool // split at hyphens between words
	hyphensLong bool // split long words after a hyphen
}

// chunk is a piece of text without a break, with its length in characters.
type chunk struct {
	text string
	n    int
}

func (w *wrapper) wrap(line string, width Value) ([]string, error) {
	chunks, err := w.split(line)
	if err != nil {
		return nil, err
	}
	f, err := w.rt.comparable(width, 79, "<=")
	if err != nil {
		return nil, err
	}
	if f <= 0 {
		return nil, valueErr("invalid width %s (must be > 0)", reprShort(width))
	}
	if fl, isFloat := width.(floatValue); isFloat && float64(fl) != float64(int(fl)) {
		return nil, typeErr("slice indices must be integers or None or have an __index__ method")
	}
	w.width = int(min(f, 1<<30))
	return w.lines(chunks)
}

func blank(s string) bool { return strings.TrimFunc(s, isSpace) == "" }

func (w *wrapper) lines(chunks []chunk) ([]string, error) {
	var lines []string
	for len(chunks) > 0 {
		if err := w.rt.step(); err != nil {
			return nil, err
		}
		// A line's own memory: its chunks, its text and its place among the lines.
		if err := w.rt.charge(128); err != nil {
			return nil, err
		}
		if len(lines) > 0 && blank(chunks[0].text) {
			if chunks = chunks[1:]; len(chunks) == 0 {
				break
			}
		}
		var cur []chunk
		n := 0
		for len(chunks) > 0 && n+chunks[0].n <= w.width {
			cur = append(cur, chunks[0])
			n += chunks[0].n
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && chunks[0].n > w.width {
			switch {
			case w.breakWords:
				var head chunk
				head, chunks[0] = w.breakWord(chunks[0], w.width-n)
				cur = append(cur, head)
			case len(cur) == 0:
				cur = append(cur, chunks[0])
				chunks = chunks[1:]
			}
		}
		if k := len(cur); k > 0 && blank(cur[k-1].text) {
			cur = cur[:k-1]
		}
		if len(cur) > 0 {
			var b strings.Builder
			for _, c := range cur {
				b.WriteString(c.text)
			}
			lines = append(lines, b.String())
		}
	}
	return lines, nil
}

// breakWord splits a word that is longer than a line.
func (w *wrapper) breakWord(c chunk, space int) (head, tail chunk) {
	at := runeOffset(c.text, space)
	n := space
	if w.hyphensLong && c.n > space {
		if h := strings.LastIndexByte(c.text[:at], '-'); h > 0 && strings.Trim(c.text[:h], "-") != "" {
			at = h + 1
			n = utf8.RuneCountInString(c.text[:at])
		}
	}
	return chunk{c.text[:at], n}, chunk{c.text[at:], c.n - n}
}

// wrapSpace is the white space at which textwrap splits.
func wrapSpace(r rune) bool { return strings.ContainsRune("\t\n\v\f\r ", r) }

func wordRune(r rune) bool   { return r == '_' || isAlnumRune(r) }
func letterRune(r rune) bool { return wordRune(r) && !unicode.Is(unicode.Nd, r) }
func punctRune(r rune) bool  { return wordRune(r) || strings.ContainsRune("!\"'&.,?", r) }

// split splits a line into words, white space and dashes.
func (w *wrapper) split(line string) ([]chunk, error) {
	r := []rune(line)
	if err := w.rt.work(len(r) / 8); err != nil {
		return nil, err
	}
	if err := w.rt.charge(8 * len(line)); err != nil {
		return nil, err
	}
	var out []chunk
	for i := 0; i < len(r); {
		j := w.chunkEnd(r, i)
		if err := w.rt.charge(32); err != nil {
			return nil, err
		}
		out = append(out, chunk{string(r[i:j]), j - i})
		i = j
	}
	return out, nil
}

// chunkEnd returns the end of the chunk at i.
func (w *wrapper) chunkEnd(r []rune, i int) int {
	n := len(r)
	if wrapSpace(r[i]) {
		for i < n && wrapSpace(r[i]) {
			i++
		}
		return i
	}
	if !w.hyphens {
		for i < n && !wrapSpace(r[i]) {
			i++
		}
		return i
	}
	if j := dashes(r, i); j > i {
		return j
	}
	for j := i + 1; ; j++ {
		// r[i:j] is a candidate; it can end after a hyphen inside a word, at the end of the word, or before a dash.
		if j < n && r[j] == '-' && hyphenated(r, j) {
			return j + 1
		}
		if j >= n || wrapSpace(r[j]) || punctRune(r[j-1]) && dashAhead(r, j) {
			return j
		}
	}
}

// dashes returns the end of a dash between words at i, or i.
func dashes(r []rune, i int) int {
	if i == 0 || !punctRune(r[i-1]) {
		return i
	}
	j := i
	for j < len(r) && r[j] == '-' {
		j++
	}
	if j-i >= 2 && j < len(r) && wordRune(r[j]) {
		return j
	}
	return i
}

func dashAhead(r []rune, i int) bool {
	j := i
	for j < len(r) && r[j] == '-' {
		j++
	}
	return j-i >= 2 && j < len(r) && wordRune(r[j])
}

// hyphenated reports whether the hyphen at j joins parts of a word.
func hyphenated(r []rune, j int) bool {
	letter := func(k int) bool { return k >= 0 && k < len(r) && letterRune(r[k]) }
	before := letter(j-1) && (letter(j-2) || j >= 3 && r[j-2] == '-' && letter(j-3))
	if !before {
		return false
	}
	return letter(j+1) && (letter(j+2) || j+2 < len(r) && r[j+2] == '-' && letter(j+3))
}
