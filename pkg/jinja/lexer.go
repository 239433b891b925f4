package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer splits a source into tokens. Outside tags it searches for the next delimiter. Inside a tag it reads tokens until the
// closing delimiter, which counts only while all brackets are closed.
type lexer struct {
	src     *source
	at      int
	tokens  []token
	closers []byte // closing characters of the open brackets
	max     int    // maximum number of open brackets
}

// lex returns all tokens of src; the last one is tokEOF. maxDepth bounds the nesting of brackets.
func lex(src *source, maxDepth int) ([]token, error) {
	lx := &lexer{src: src, max: maxDepth, tokens: make([]token, 0, 16+len(src.text)/8)}
	for lx.at < len(src.text) {
		if err := lx.outside(); err != nil {
			return nil, err
		}
	}
	lx.emit(token{kind: tokEOF, pos: pos(len(src.text))})
	return lx.tokens, nil
}

// lexExpression returns the tokens of a source that is an expression; the last one is tokEOF.
func lexExpression(src *source, maxDepth int) ([]token, error) {
	lx := &lexer{src: src, max: maxDepth}
	for {
		if lx.at = skipSpace(src.text, lx.at); lx.at >= len(src.text) {
			lx.emit(token{kind: tokEOF, pos: pos(len(src.text))})
			return lx.tokens, nil
		}
		if err := lx.token(); err != nil {
			return nil, err
		}
	}
}

func (lx *lexer) emit(t token) { lx.tokens = append(lx.tokens, t) }

func (lx *lexer) fail(at int, format string, args ...any) error {
	return syntaxErr(lx.src, pos(at), format, args...)
}

func syntaxErr(src *source, p pos, format string, args ...any) error {
	return locate(newError(KindSyntax, classOther, "TemplateSyntaxError", format, args...), src, p)
}

// data emits template data. The sign of the next tag can trim white space at its end.
func (lx *lexer) data(from, to int, sign byte) {
	text := lx.src.text[from:to]
	if sign == '-' {
		text = strings.TrimRightFunc(text, isSpace)
	}
	if text != "" {
		lx.emit(token{kind: tokData, pos: pos(from), text: text})
	}
}

// outside reads template data up to the next tag, and the tag.
func (lx *lexer) outside() error {
	s, start := lx.src.text, lx.at
	for i := start; ; i++ {
		j := strings.IndexByte(s[i:], '{')
		if j < 0 || i+j+1 >= len(s) {
			lx.data(start, len(s), 0)
			lx.at = len(s)
			return nil
		}
		i += j
		c := s[i+1]
		if c != '{' && c != '%' && c != '#' {
			continue
		}
		if c == '%' {
			if end, sign, ok := lx.rawBegin(i); ok {
				lx.data(start, i, sign)
				lx.at = end
				return lx.raw(i)
			}
		}
		lx.at = i + 2
		var sign byte
		if lx.at < len(s) && (s[lx.at] == '-' || s[lx.at] == '+') {
			sign = s[lx.at]
			lx.at++
		}
		lx.data(start, i, sign)
		switch c {
		case '#':
			return lx.comment(i)
		case '{':
			lx.emit(token{kind: tokVarBegin, pos: pos(i)})
			return lx.inside(tokVarEnd, "}}")
		default:
			lx.emit(token{kind: tokBlockBegin, pos: pos(i)})
			return lx.inside(tokBlockEnd, "%}")
		}
	}
}

// rawBegin reports whether a raw block begins at i, and where its text begins.
func (lx *lexer) rawBegin(i int) (end int, sign byte, ok bool) {
	s := lx.src.text
	p := i + 2
	if p < len(s) && (s[p] == '-' || s[p] == '+') {
		sign = s[p]
		p++
	}
	p = skipSpace(s, p)
	if !strings.HasPrefix(s[p:], "raw") {
		return 0, 0, false
	}
	p = skipSpace(s, p+3)
	if strings.HasPrefix(s[p:], "-%}") {
		return skipSpace(s, p+3), sign, true
	}
	if strings.HasPrefix(s[p:], "%}") {
		return p + 2, sign, true
	}
	return 0, 0, false
}

// raw reads a raw block's text and end; lx.at is at the text.
func (lx *lexer) raw(begin int) error {
	s := lx.src.text
	if lx.at == len(s) {
		return nil // As in Jinja2, an opening delimiter at the very end is ignored.
	}
	for i := lx.at; ; i++ {
		j := strings.Index(s[i:], "{%")
		if j < 0 {
			return lx.fail(begin, "Missing end of raw directive")
		}
		i += j
		p := i + 2
		var sign byte
		if p < len(s) && (s[p] == '-' || s[p] == '+') {
			sign = s[p]
			p++
		}
		p = skipSpace(s, p)
		if !strings.HasPrefix(s[p:], "endraw") {
			continue
		}
		p = skipSpace(s, p+len("endraw"))
		if end, ok := tagEnd(s, p, "%}", true); ok {
			lx.data(lx.at, i, sign)
			lx.at = end
			return nil
		}
	}
}

func (lx *lexer) comment(begin int) error {
	s := lx.src.text
	j := strings.Index(s[lx.at:], "#}")
	if j < 0 && lx.at == len(s) {
		return nil // As in Jinja2, an opening delimiter at the very end is ignored.
	}
	if j < 0 {
		return lx.fail(begin, "Missing end of comment tag")
	}
	end := lx.at + j
	minus := j > 0 && s[end-1] == '-'
	lx.at = end + 2
	if minus {
		lx.at = skipSpace(s, lx.at)
	}
	return nil
}

// tagEnd reports whether the closing delimiter is at p, and where the text after it begins.
func tagEnd(s string, p int, closer string, plus bool) (int, bool) {
	if strings.HasPrefix(s[p:], closer) {
		return p + 2, true
	}
	if p+3 <= len(s) && s[p+1:p+3] == closer {
		switch {
		case s[p] == '-':
			return skipSpace(s, p+3), true
		case s[p] == '+' && plus:
			return p + 3, true
		}
	}
	return 0, false
}

// inside reads the tokens of a tag up to its closing delimiter.
func (lx *lexer) inside(end tokenKind, closer string) error {
	s := lx.src.text
	lx.closers = lx.closers[:0]
	for {
		lx.at = skipSpace(s, lx.at)
		if lx.at >= len(s) {
			return nil // the parser reports the missing delimiter
		}
		if len(lx.closers) == 0 {
			if to, ok := tagEnd(s, lx.at, closer, end == tokBlockEnd); ok {
				lx.emit(token{kind: end, pos: pos(lx.at)})
				lx.at = to
				return nil
			}
		}
		if err := lx.token(); err != nil {
			return err
		}
	}
}

// token reads one token inside of a tag.
func (lx *lexer) token() error {
	s, i := lx.src.text, lx.at
	c := s[i]
	switch {
	case c >= '0' && c <= '9':
		return lx.number()
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		j := i + 1
		for j < len(s) && (s[j] == '_' || s[j] >= 'a' && s[j] <= 'z' || s[j] >= 'A' && s[j] <= 'Z' || s[j] >= '0' && s[j] <= '9') {
			j++
		}
		if j < len(s) && s[j] >= utf8.RuneSelf {
			return lx.unicodeName()
		}
		lx.emit(token{kind: tokName, pos: pos(i), text: s[i:j]})
		lx.at = j
		return nil
	case c == '\'' || c == '"':
		return lx.str(c)
	case c >= utf8.RuneSelf:
		return lx.unicodeName()
	}
	return lx.operator()
}

func (lx *lexer) unicodeName() error {
	s, i := lx.src.text, lx.at
	j := i
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if !(r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc)) {
			break
		}
		j += n
	}
	if j == i {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return lx.fail(i, "unexpected char %s at %d", reprStr(string(r)), utf8.RuneCountInString(s[:i]))
	}
	for k, r := range s[i:j] {
		start := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
		if !start && (k == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return lx.fail(i, "Invalid character in identifier")
		}
	}
	lx.emit(token{kind: tokName, pos: pos(i), text: s[i:j]})
	lx.at = j
	return nil
}

func (lx *lexer) operator() error {
	s, i := lx.src.text, lx.at
	c := s[i]
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	kind, n := tokEOF, 1
	switch c {
	case '+':
		kind = tokAdd
	case '-':
		kind = tokSub
	case '*':
		kind = tokMul
		if next == '*' {
			kind, n = tokPow, 2
		}
	case '/':
		kind = tokDiv
		if next == '/' {
			kind, n = tokFloorDiv, 2
		}
	case '%':
		kind = tokMod
	case '~':
		kind = tokTilde
	case '=':
		kind = tokAssign
		if next == '=' {
			kind, n = tokEq, 2
		}
	case '!':
		if next == '=' {
			kind, n = tokNe, 2
		}
	case '<':
		kind = tokLt
		if next == '=' {
			kind, n = tokLe, 2
		}
	case '>':
		kind = tokGt
		if next == '=' {
			kind, n = tokGe, 2
		}
	case '.':
		kind = tokDot
	case ':':
		kind = tokColon
	case '|':
		kind = tokPipe
	case ',':
		kind = tokComma
	case ';':
		kind = tokSemicolon
	case '[', '(', '{':
		return lx.open(c)
	case ']', ')', '}':
		return lx.close(c)
	}
	if kind == tokEOF {
		return lx.fail(i, "unexpected char %s at %d", reprStr(string(rune(c))), utf8.RuneCountInString(s[:i]))
	}
	lx.emit(token{kind: kind, pos: pos(i)})
	lx.at += n
	return nil
}

func (lx *lexer) open(c byte) error {
	kind, closer := tokLBracket, byte(']')
	switch c {
	case '(':
		kind, closer = tokLParen, ')'
	case '{':
		kind, closer = tokLBrace, '}'
	}
	if len(lx.closers) >= lx.max {
		return locate(budgetErr("the template exceeds its nesting depth of %d", lx.max), lx.src, pos(lx.at))
	}
	lx.closers = append(lx.closers, closer)
	lx.emit(token{kind: kind, pos: pos(lx.at)})
	lx.at++
	return nil
}

func (lx *lexer) close(c byte) error {
	n := len(lx.closers)
	if n == 0 {
		return lx.fail(lx.at, "unexpected '%c'", c)
	}
	if want := lx.closers[n-1]; want != c {
		return lx.fail(lx.at, "unexpected '%c', expected '%c'", c, want)
	}
	lx.closers = lx.closers[:n-1]
	kind := tokRBracket
	switch c {
	case ')':
		kind = tokRParen
	case '}':
		kind = tokRBrace
	}
	lx.emit(token{kind: kind, pos: pos(lx.at)})
	lx.at++
	return nil
}

func skipSpace(s string, i int) int {
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if !isSpace(rune(c)) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isSpace(r) {
			return i
		}
		i += n
	}
	return i
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	switch {
	case r == ' ', r >= '\t' && r <= '\r', r >= 0x1c && r <= 0x1f:
		return true
	case r < 0x80:
		return false
	case r == 0x85, r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}
