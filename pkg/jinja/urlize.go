package jinja

import (
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// Patterns of web addresses. Go's regular expressions run in linear time, so no text can stall them.
var (
	httpPattern = regexp.MustCompile(`^(?i:((https?://|www\.)(([\p{L}\p{N}_%-]+\.)+)?([a-z]{2,63}|xn--[\p{L}\p{N}_%]{2,59})` +
		`|([\p{L}\p{N}_%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)` +
		`|(https?://)((([\p{Nd}]{1,3})(\.[\p{Nd}]{1,3}){3})|(\[([\p{Nd}a-f]{0,4}:){2}([\p{Nd}a-f]{0,4}:?){1,6}\])))` +
		`(?::[\p{Nd}]{1,5})?(?:[/?#]\S*)?)\n?$`)
	emailPattern  = regexp.MustCompile(`^\S+@[\p{L}\p{N}_][\p{L}\p{N}_.-]*\.[\p{L}\p{N}_]+\n?$`)
	schemePattern = regexp.MustCompile(`^([\p{L}\p{N}_.+-]{2,}:(/){0,2})$`)
)

type urlizer struct {
	limit       Value // nil: no limit; evaluated only if there is a link
	rel, target string
	schemes     []string
}

func filterURLize(rt *state, a []Value) (Value, error) {
	u := &urlizer{}
	if given(a[1]) {
		u.limit = a[1]
	}
	nofollow, err := rt.flag(a[2], false)
	if err != nil {
		return nil, err
	}
	if u.rel, err = rt.relAttr(a[4], nofollow); err != nil {
		return nil, err
	}
	if a[3] != nil {
		ok, err := truthy(rt, a[3])
		if err != nil {
			return nil, err
		}
		if ok {
			t, err := rt.escape(a[3])
			if err != nil {
				return nil, err
			}
			u.target = ` target="` + t + `"`
		}
	}
	if given(a[5]) {
		if err := rt.schemes(u, a[5]); err != nil {
			return nil, err
		}
	}
	s, err := rt.escape(a[0])
	if err != nil {
		return nil, err
	}
	out, err := rt.urlize(s, u)
	return strLike(out, rt.autoescape), err
}

func (rt *state) relAttr(rel Value, nofollow bool) (string, error) {
	parts := map[string]bool{"noopener": true}
	if rel != nil {
		ok, err := truthy(rt, rel)
		if err != nil {
			return "", err
		}
		if ok {
			s, isText := asText(rel)
			if !isText {
				return "", attributeErr("'%s' object has no attribute 'split'", rel.typeName())
			}
			for _, p := range splitSpace(s, -1) {
				parts[p] = true
			}
		}
	}
	if nofollow {
		parts["nofollow"] = true
	}
	var names []string
	for p := range parts {
		names = append(names, p)
	}
	sort.Strings(names)
	s, err := rt.escapeText(strings.Join(names, " "))
	return ` rel="` + s + `"`, err
}

func (rt *state) schemes(u *urlizer, v Value) error {
	items, err := rt.toSlice(v)
	if err != nil {
		return err
	}
	for _, it := range items {
		s, ok := asText(it)
		if !ok {
			return typeErr("expected string or bytes-like object, got '%s'", it.typeName())
		}
		if !schemePattern.MatchString(s) {
			return filterArgErr("%s is not a valid URI scheme prefix.", reprStr(s))
		}
		u.schemes = append(u.schemes, s)
	}
	return nil
}

// urlize links the addresses of an escaped text.
func (rt *state) urlize(s string, u *urlizer) (string, error) {
	var b strings.Builder
	emit := func(t string) error {
		b.WriteString(t)
		return rt.charge(2 * len(t))
	}
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return !isSpace(r) })
		if i < 0 {
			i = len(s)
		}
		if err := emit(s[:i]); err != nil {
			return "", err
		}
		s = s[i:]
		if i = strings.IndexFunc(s, isSpace); i < 0 {
			i = len(s)
		}
		// The expressions take some steps per byte.
		if err := rt.work(1 + i/4); err != nil {
			return "", err
		}
		w, err := u.word(rt, s[:i])
		if err == nil {
			err = emit(w)
		}
		if err != nil {
			return "", err
		}
		s = s[i:]
	}
	return b.String(), nil
}

func (u *urlizer) word(rt *state, w string) (string, error) {
	begin := 0
	for begin < len(w) {
		switch {
		case w[begin] == '(' || w[begin] == '<':
			begin++
			continue
		case strings.HasPrefix(w[begin:], "&lt;"):
			begin += 4
			continue
		}
		break
	}
	end := len(w)
	for end > begin {
		if strings.IndexByte(")>.,\n", w[end-1]) >= 0 {
			end--
		} else if strings.HasSuffix(w[begin:end], "&gt;") {
			end -= 4
		} else {
			break
		}
	}
	for _, p := range [][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		// Closing brackets after the address belong to it while it opens more than it closes.
		open := strings.Count(w[begin:end], p[0])
		if open <= strings.Count(w[begin:end], p[1]) {
			continue
		}
		for ; open > 0; open-- {
			i := strings.Index(w[end:], p[1])
			if i < 0 {
				break
			}
			end += i + len(p[1])
		}
	}
	head, middle, tail := w[:begin], w[begin:end], w[end:]
	linked, err := u.link(rt, middle)
	return head + linked + tail, err
}

func (u *urlizer) link(rt *state, s string) (string, error) {
	anchor := func(href, text string) string {
		return `<a href="` + href + `"` + u.rel + u.target + ">" + text + "</a>"
	}
	switch {
	case httpPattern.MatchString(s):
		text, err := u.trim(rt, s)
		if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
			return anchor(s, text), err
		}
		return anchor("https://"+s, text), err
	case strings.HasPrefix(s, "mailto:") && emailPattern.MatchString(s[7:]):
		return `<a href="` + s + `">` + s[7:] + "</a>", nil
	case strings.Contains(s, "@") && !strings.HasPrefix(s, "www.") && s[0] != '@' && !strings.Contains(s, ":") && emailPattern.MatchString(s):
		return `<a href="mailto:` + s + `">` + s + "</a>", nil
	}
	for _, scheme := range u.schemes {
		if s != scheme && strings.HasPrefix(s, scheme) {
			s = anchor(s, s)
		}
	}
	return s, nil
}

// trim shortens the text of a link.
func (u *urlizer) trim(rt *state, s string) (string, error) {
	if u.limit == nil {
		return s, nil
	}
	long, err := rt.order(opGt, intValue(utf8.RuneCountInString(s)), u.limit)
	if err != nil || !long {
		return s, err
	}
	cut, err := rt.sliceText(s, sliceValue{None, u.limit, None})
	return cut + "...", err
}
