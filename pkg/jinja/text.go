package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// upper is str.upper.
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	for _, r := range s {
		if t, ok := upperSpecial[r]; ok {
			b.WriteString(t)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// lower is str.lower.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		b.WriteString(lowerRune(s, i, r))
	}
	return b.String()
}

// lowerRune lowers the character r at i of s. Sigma has another form at the end of a word.
func lowerRune(s string, i int, r rune) string {
	switch r {
	case 'İ':
		return "i̇"
	case 'Σ':
		if finalSigma(s, i) {
			return "ς"
		}
	}
	return string(unicode.ToLower(r))
}

func finalSigma(s string, i int) bool {
	before := false
	for rest := s[:i]; rest != ""; {
		r, n := utf8.DecodeLastRuneInString(rest)
		rest = rest[:len(rest)-n]
		if !caseIgnorable(r) {
			before = cased(r)
			break
		}
	}
	if !before {
		return false
	}
	for _, r := range s[i+len("Σ"):] {
		if !caseIgnorable(r) {
			return !cased(r)
		}
	}
	return true
}

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’‘‧", r)
}

func isLower(r rune) bool { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }
func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }
func cased(r rune) bool   { return isLower(r) || isUpper(r) || unicode.IsTitle(r) }

// titleRune is the title case of one character.
func titleRune(r rune) string {
	if t, ok := titleSpecial[r]; ok {
		return t
	}
	return string(unicode.ToTitle(r))
}

// capitalize is str.capitalize.
func capitalize(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	var b strings.Builder
	b.WriteString(titleRune(r))
	for i, r := range s[n:] {
		b.WriteString(lowerRune(s, n+i, r))
	}
	return b.String()
}

// title is str.title: a letter that does not follow a letter is in title case.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for i, r := range s {
		if inWord {
			b.WriteString(lowerRune(s, i, r))
		} else {
			b.WriteString(titleRune(r))
		}
		inWord = cased(r)
	}
	return b.String()
}

func swapCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case isUpper(r):
			b.WriteString(lowerRune(s, i, r))
		case isLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func caseFold(s string) string {
	var b strings.Builder
	for _, r := range s {
		if t, ok := foldSpecial[r]; ok {
			b.WriteString(t)
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func isDigitRune(r rune) bool   { return unicode.Is(unicode.Nd, r) || unicode.Is(digitExtra, r) }
func isNumericRune(r rune) bool { return isDigitRune(r) || unicode.Is(numericExtra, r) }
func isAlnumRune(r rune) bool   { return unicode.IsLetter(r) || isNumericRune(r) }

// allRunes is the pattern of str.isalpha and similar methods: the string is not empty, and all characters match.
func allRunes(s string, ok func(rune) bool) bool {
	for _, r := range s {
		if !ok(r) {
			return false
		}
	}
	return s != ""
}

func isLowerText(s string) bool { return isCaseText(s, isLower, isUpper) }
func isUpperText(s string) bool { return isCaseText(s, isUpper, isLower) }

func isCaseText(s string, want, other func(rune) bool) bool {
	found := false
	for _, r := range s {
		if other(r) || unicode.IsTitle(r) {
			return false
		}
		found = found || want(r)
	}
	return found
}

func isTitleText(s string) bool {
	found, inWord := false, false
	for _, r := range s {
		switch {
		case isUpper(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			found, inWord = true, true
		case isLower(r):
			if !inWord {
				return false
			}
			inWord = true
		default:
			inWord = false
		}
	}
	return found
}

func isIdentifier(s string) bool {
	for i, r := range s {
		start := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
		if !start && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return false
		}
	}
	return s != ""
}

// splitLines is str.splitlines.
func splitLines(s string, keep bool) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		end := i + n
		if !isLineBreak(r) {
			i = end
			continue
		}
		if r == '\r' && end < len(s) && s[end] == '\n' {
			end++
		}
		if keep {
			out = append(out, s[start:end])
		} else {
			out = append(out, s[start:i])
		}
		start, i = end, end
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// splitSpace is str.split without a separator, at most limit times from the left.
func splitSpace(s string, limit int) []string {
	out := make([]string, 0, 8)
	for {
		s = strings.TrimLeftFunc(s, isSpace)
		if s == "" {
			return out
		}
		if limit == 0 {
			return append(out, s)
		}
		i := strings.IndexFunc(s, isSpace)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i:]
		limit--
	}
}

// rsplitSpace is str.rsplit without a separator.
func rsplitSpace(s string, limit int) []string {
	var out []string
	for {
		s = strings.TrimRightFunc(s, isSpace)
		if s == "" {
			break
		}
		if limit == 0 {
			out = append(out, s)
			break
		}
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 {
			out = append(out, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		out = append(out, s[i+n:])
		s = s[:i]
		limit--
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// splitN is str.split with a separator; limit < 0 means no limit.
func splitN(s, sep string, limit int) []string {
	if limit < 0 {
		return strings.Split(s, sep)
	}
	return strings.SplitN(s, sep, limit+1)
}

func rsplitN(s, sep string, limit int) []string {
	if limit < 0 {
		return strings.Split(s, sep)
	}
	var tail []string
	for ; limit > 0; limit-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		tail = append(tail, s[i+len(sep):])
		s = s[:i]
	}
	out := make([]string, 0, len(tail)+1)
	out = append(out, s)
	for _, t := range slices.Backward(tail) {
		out = append(out, t)
	}
	return out
}

// strip removes characters of set, or white space if set is nil, at the left and right end.
func strip(s string, set *string, left, right bool) string {
	cut := isSpace
	if set != nil {
		cut = func(r rune) bool { return strings.ContainsRune(*set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}
