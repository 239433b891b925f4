package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMap returns a method that maps text to text of the same type.
func textMap(name string, f func(string) string) *method {
	return newMethod(name, "", func(rt *state, recv Value, _ []Value) (Value, error) {
		s, _ := asText(recv)
		if err := rt.charge(3 * len(s)); err != nil {
			return nil, err
		}
		if err := rt.work(len(s) / 16); err != nil {
			return nil, err
		}
		_, markup := recv.(markupValue)
		return strLike(f(s), markup), nil
	})
}

func textTest(name string, f func(string) bool) *method {
	return newMethod(name, "", func(rt *state, recv Value, _ []Value) (Value, error) {
		s, _ := asText(recv)
		return Bool(f(s)), rt.work(len(s) / 16)
	})
}

func runesTest(name string, f func(rune) bool) *method {
	return textTest(name, func(s string) bool { return allRunes(s, f) })
}

// textMethod returns a method whose function receives the text and whether it is Markup.
func textMethod(name, signature string, f func(rt *state, s string, markup bool, a []Value) (Value, error)) *method {
	return newMethod(name, signature, func(rt *state, recv Value, a []Value) (Value, error) {
		s, _ := asText(recv)
		if err := rt.work(len(s) / 64); err != nil {
			return nil, err
		}
		_, markup := recv.(markupValue)
		return f(rt, s, markup, a)
	})
}

var strMethods = map[string]*method{
	"upper":        textMap("upper", upper),
	"lower":        textMap("lower", lower),
	"title":        textMap("title", title),
	"capitalize":   textMap("capitalize", capitalize),
	"swapcase":     textMap("swapcase", swapCase),
	"casefold":     textMap("casefold", caseFold),
	"isalnum":      runesTest("isalnum", isAlnumRune),
	"isalpha":      runesTest("isalpha", unicode.IsLetter),
	"isdecimal":    runesTest("isdecimal", func(r rune) bool { return unicode.Is(unicode.Nd, r) }),
	"isdigit":      runesTest("isdigit", isDigitRune),
	"isnumeric":    runesTest("isnumeric", isNumericRune),
	"isspace":      runesTest("isspace", isSpace),
	"isascii":      textTest("isascii", isASCII),
	"isidentifier": textTest("isidentifier", isIdentifier),
	"islower":      textTest("islower", isLowerText),
	"isupper":      textTest("isupper", isUpperText),
	"istitle":      textTest("istitle", isTitleText),
	"isprintable":  textTest("isprintable", func(s string) bool { return s == "" || allRunes(s, isPrintable) }),
	"strip":        stripMethod("strip", true, true),
	"lstrip":       stripMethod("lstrip", true, false),
	"rstrip":       stripMethod("rstrip", false, true),
	"split":        splitMethod("split", splitSpace, splitN),
	"rsplit":       splitMethod("rsplit", rsplitSpace, rsplitN),
	"splitlines":   textMethod("splitlines", "keepends=", strSplitLines),
	"partition":    textMethod("partition", "sep /", strPartition),
	"rpartition":   textMethod("rpartition", "sep /", strRPartition),
	"replace":      textMethod("replace", "old new count= /", strReplace),
	"join":         textMethod("join", "iterable /", strJoin),
	"startswith":   affixMethod("startswith", strings.HasPrefix),
	"endswith":     affixMethod("endswith", strings.HasSuffix),
	"removeprefix": textMethod("removeprefix", "prefix /", func(_ *state, s string, markup bool, a []Value) (Value, error) {
		p, err := textArg(a[0], "removeprefix() argument")
		return strLike(strings.TrimPrefix(s, p), markup), err
	}),
	"removesuffix": textMethod("removesuffix", "suffix /", func(_ *state, s string, markup bool, a []Value) (Value, error) {
		p, err := textArg(a[0], "removesuffix() argument")
		return strLike(strings.TrimSuffix(s, p), markup), err
	}),
	"find":       findMethod("find", strings.Index, false),
	"rfind":      findMethod("rfind", strings.LastIndex, false),
	"index":      findMethod("index", strings.Index, true),
	"rindex":     findMethod("rindex", strings.LastIndex, true),
	"count":      textMethod("count", "sub start= end= /", strCount),
	"center":     padMethod("center", padCenter),
	"ljust":      padMethod("ljust", padRight),
	"rjust":      padMethod("rjust", padLeft),
	"zfill":      textMethod("zfill", "width /", strZfill),
	"expandtabs": textMethod("expandtabs", "tabsize=", strExpandTabs),
	"encode":     textMethod("encode", "encoding= errors=", strEncode),
	"translate":  textMethod("translate", "table /", strTranslate),
	"maketrans":  textMethod("maketrans", "x y= z= /", strMakeTrans),
	"format":     {builtin: &builtin{name: "format"}, rawFn: strFormatMethod},
	"format_map": {builtin: &builtin{name: "format_map"}, rawFn: strFormatMapMethod},
}

// markupMethods are the methods that Markup has beyond those of str.
var markupMethods = map[string]*method{
	"striptags": textMethod("striptags", "", func(rt *state, s string, _ bool, _ []Value) (Value, error) {
		t, err := rt.stripTags(s)
		return strValue(t), err
	}),
	"unescape": textMethod("unescape", "", func(rt *state, s string, _ bool, _ []Value) (Value, error) {
		return strValue(unescapeHTML(s)), rt.charge(len(s))
	}),
	"escape": textMethod("escape", "s", func(rt *state, _ string, _ bool, a []Value) (Value, error) {
		s, err := rt.escape(a[0])
		return markupValue(s), err
	}),
}

func stripMethod(name string, left, right bool) *method {
	return textMethod(name, "chars= /", func(_ *state, s string, markup bool, a []Value) (Value, error) {
		if a[0] == nil || a[0] == None {
			return strLike(strip(s, nil, left, right), markup), nil
		}
		set, ok := asText(a[0])
		if !ok {
			return nil, typeErr("%s arg must be None or str", name)
		}
		return strLike(strip(s, &set, left, right), markup), nil
	})
}

// texts makes a list of strings.
func (rt *state) texts(parts []string, markup bool) (Value, error) {
	if err := rt.work(len(parts)); err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(len(parts), 2*sizeValue); err != nil {
		return nil, err
	}
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = strLike(p, markup)
	}
	return &listValue{items}, nil
}

func splitMethod(name string, space func(string, int) []string, split func(string, string, int) []string) *method {
	return textMethod(name, "sep= maxsplit=", func(rt *state, s string, markup bool, a []Value) (Value, error) {
		limit, err := intArg(a[1], -1)
		if err != nil {
			return nil, err
		}
		// Splitting takes a string header per part.
		if err := rt.charge(len(s) / 2); err != nil {
			return nil, err
		}
		if a[0] == nil || a[0] == None {
			return rt.texts(space(s, limit), markup)
		}
		sep, ok := asText(a[0])
		if !ok {
			return nil, typeErr("must be str or None, not %s", a[0].typeName())
		}
		if sep == "" {
			return nil, valueErr("empty separator")
		}
		if n := strings.Count(s, sep); limit < 0 || n < limit {
			if err := rt.chargeTimes(n, sizeValue); err != nil {
				return nil, err
			}
		}
		return rt.texts(split(s, sep, limit), markup)
	})
}

func strSplitLines(rt *state, s string, markup bool, a []Value) (Value, error) {
	keep := false
	if a[0] != nil {
		n, err := intArg(a[0], 0)
		if err != nil {
			return nil, err
		}
		keep = n != 0
	}
	if err := rt.charge(len(s) * 2); err != nil {
		return nil, err
	}
	return rt.texts(splitLines(s, keep), markup)
}

func strPartition(_ *state, s string, markup bool, a []Value) (Value, error) {
	sep, err := textArg(a[0], "partition() argument")
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, valueErr("empty separator")
	}
	before, after, found := strings.Cut(s, sep)
	if !found {
		sep = ""
	}
	return newTuple([]Value{strLike(before, markup), strLike(sep, markup), strLike(after, markup)}), nil
}

func strRPartition(_ *state, s string, markup bool, a []Value) (Value, error) {
	sep, err := textArg(a[0], "rpartition() argument")
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, valueErr("empty separator")
	}
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return newTuple([]Value{strLike("", markup), strLike("", markup), strLike(s, markup)}), nil
	}
	return newTuple([]Value{strLike(s[:i], markup), strLike(sep, markup), strLike(s[i+len(sep):], markup)}), nil
}

func strReplace(rt *state, s string, markup bool, a []Value) (Value, error) {
	old, err := textArg(a[0], "replace() argument 1")
	if err != nil {
		return nil, err
	}
	repl, ok := asText(a[1])
	if markup {
		if repl, err = rt.escape(a[1]); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, typeErr("replace() argument 2 must be str, not %s", a[1].typeName())
	}
	n, err := intArg(a[2], -1)
	if err != nil {
		return nil, err
	}
	t, err := rt.replace(s, old, repl, n)
	return strLike(t, markup), err
}

// replace is strings.Replace under the budget.
func (rt *state) replace(s, old, repl string, n int) (string, error) {
	if err := rt.work(len(s) / 16); err != nil {
		return "", err
	}
	found := strings.Count(s, old)
	if n >= 0 {
		found = min(found, n)
	}
	if err := rt.chargeTimes(found, max(len(repl)-len(old), 0)); err != nil {
		return "", err
	}
	if err := rt.charge(len(s)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, repl, n), nil
}

func strJoin(rt *state, sep string, markup bool, a []Value) (Value, error) {
	items, err := rt.toSlice(a[0])
	if err != nil {
		if isClass(err, classType) {
			if _, e := rt.iterate(a[0]); e != nil {
				return nil, typeErr("can only join an iterable")
			}
		}
		return nil, err
	}
	joined, err := rt.join(len(items), sep, func(i int) (string, error) {
		if markup {
			return rt.escape(items[i])
		}
		s, ok := asText(items[i])
		if !ok {
			return "", typeErr("sequence item %d: expected str instance, %s found", i, items[i].typeName())
		}
		return s, nil
	})
	return strLike(joined, markup), err
}

// window returns the characters of s from start to end, as str.find and similar methods count them. offset is the number of
// characters before it.
func window(s string, start, end Value) (part string, offset int, ok bool, err error) {
	if (start == nil || start == None) && (end == nil || end == None) {
		return s, 0, true, nil
	}
	n := utf8.RuneCountInString(s)
	bound := func(v Value, def int) (int, error) {
		if v == nil {
			return def, nil
		}
		i, ok, err := sliceIndex(v)
		if err != nil || !ok {
			return def, err
		}
		if i < 0 {
			i = max(i+n, 0)
		}
		return i, nil
	}
	from, err := bound(start, 0)
	if err != nil {
		return "", 0, false, err
	}
	to, err := bound(end, n)
	if err != nil {
		return "", 0, false, err
	}
	to = min(to, n)
	if from > to {
		return "", from, false, nil
	}
	return s[runeOffset(s, from):runeOffset(s, to)], from, true, nil
}

// runeOffset returns the byte offset of character i. It reads only up to that character.
func runeOffset(s string, i int) int {
	if i <= len(s) && isASCII(s[:max(i, 0)]) {
		return max(i, 0)
	}
	for at := range s {
		if i == 0 {
			return at
		}
		i--
	}
	return len(s)
}

func findMethod(name string, find func(string, string) int, must bool) *method {
	return textMethod(name, "sub start= end= /", func(rt *state, s string, _ bool, a []Value) (Value, error) {
		sub, err := textArg(a[0], "must be str, not")
		if err != nil {
			return nil, typeErr("must be str, not %s", a[0].typeName())
		}
		part, offset, ok, err := window(s, a[1], a[2])
		if err != nil {
			return nil, err
		}
		i := -1
		if ok {
			i = find(part, sub)
		}
		if i < 0 {
			if must {
				return nil, valueErr("substring not found")
			}
			return intValue(-1), nil
		}
		return intValue(offset + utf8.RuneCountInString(part[:i])), rt.work(len(s) / 32)
	})
}

func strCount(rt *state, s string, _ bool, a []Value) (Value, error) {
	sub, ok := asText(a[0])
	if !ok {
		return nil, typeErr("must be str, not %s", a[0].typeName())
	}
	part, _, ok, err := window(s, a[1], a[2])
	if err != nil || !ok {
		return intValue(0), err
	}
	return intValue(strings.Count(part, sub)), rt.work(len(s) / 32)
}

func affixMethod(name string, has func(string, string) bool) *method {
	return textMethod(name, "prefix start= end= /", func(_ *state, s string, _ bool, a []Value) (Value, error) {
		part, _, inside, err := window(s, a[1], a[2])
		if err != nil {
			return nil, err
		}
		if t, ok := a[0].(*tupleValue); ok {
			for _, it := range t.items {
				p, ok := asText(it)
				if !ok {
					return nil, typeErr("tuple for %s must only contain str, not %s", name, it.typeName())
				}
				if inside && has(part, p) {
					return valTrue, nil
				}
			}
			return valFalse, nil
		}
		p, ok := asText(a[0])
		if !ok {
			return nil, typeErr("%s first arg must be str or a tuple of str, not %s", name, a[0].typeName())
		}
		return Bool(inside && has(part, p)), nil
	})
}
