package jinja

import (
	"html"
	"strings"
)

var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escapeText escapes a text for HTML.
func (rt *state) escapeText(s string) (string, error) {
	if !strings.ContainsAny(s, `&<>'"`) {
		return s, nil
	}
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '&', '\'', '"':
			n += 4
		case '<', '>':
			n += 3
		}
	}
	if err := rt.charge(n); err != nil {
		return "", err
	}
	return htmlEscaper.Replace(s), nil
}

// escape is markupsafe.escape: safe values stay as they are.
func (rt *state) escape(v Value) (string, error) {
	if m, ok := v.(markupValue); ok {
		return string(m), nil
	}
	s, err := rt.str(v)
	if err != nil {
		return "", err
	}
	return rt.escapeText(s)
}

// hasHTML reports whether a value has its own HTML form.
func hasHTML(v Value) bool {
	switch v := v.(type) {
	case markupValue:
		return true
	case *undefinedValue:
		return v.mode == Chainable
	}
	return false
}

// toMarkup is Markup(v).
func (rt *state) toMarkup(v Value) (Value, error) {
	s, err := rt.str(v)
	return markupValue(s), err
}

// concat is the operator ~: it joins printed forms. The result is Markup if one of them is.
func (rt *state) concat(vals []Value, escaping bool) (Value, error) {
	markup := false
	if escaping {
		for _, v := range vals {
			markup = markup || hasHTML(v)
		}
	}
	var parts [8]string
	texts := parts[:0]
	n := 0
	for _, v := range vals {
		var s string
		var err error
		if markup {
			s, err = rt.escape(v)
		} else {
			s, err = rt.str(v)
		}
		if err != nil {
			return nil, err
		}
		n += len(s)
		texts = append(texts, s)
	}
	if err := rt.charge(n); err != nil {
		return nil, err
	}
	return strLike(strings.Join(texts, ""), markup), nil
}

// stripTags removes tags and comments, joins white space and resolves character references.
func (rt *state) stripTags(s string) (string, error) {
	if err := rt.charge(2 * len(s)); err != nil {
		return "", err
	}
	if err := rt.work(len(s) / 16); err != nil {
		return "", err
	}
	var b strings.Builder
	at := 0
	for {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			break
		}
		i += at
		var end int
		if strings.HasPrefix(s[i:], "<!--") {
			end = strings.Index(s[i+4:], "-->")
			end += i + 4 + 3
			if end < i+4+3 {
				break
			}
		} else {
			end = strings.IndexByte(s[i:], '>')
			if end < 0 {
				break
			}
			end += i + 1
		}
		b.WriteString(s[at:i])
		at = end
	}
	b.WriteString(s[at:])
	return unescapeHTML(strings.Join(splitSpace(b.String(), -1), " ")), nil
}

// unescapeHTML resolves character references.
func unescapeHTML(s string) string { return html.UnescapeString(s) }
