package jsontoken

// Lexer takes tokens off the front of Data[Pos:]. After the first error it stops and moves to the end of the text. Every later
// method then returns an empty result, so a caller needs to check Stopped only in loops. A copy of a Lexer can look ahead.
type Lexer struct {
	Data []byte
	Pos  int
	// MaxDepth is the maximum nesting depth of arrays and objects.
	MaxDepth int
	// MaxValues is the maximum number of values that Scan, Skip and Raw take; 0 means no limit. Callers that build something for
	// each value set it.
	MaxValues int
	// Depth is the number of open arrays and objects.
	Depth int
	// Spaces counts the white-space bytes read so far.
	Spaces int
	// LoneSurrogate is set when a string contains half of a surrogate pair. The caller resets it.
	LoneSurrogate bool
	// Reason describes the syntax error at offset At. It is empty without an error.
	Reason string
	At     int

	values  int // Values taken so far.
	yielded int // The offset up to which other goroutines waited.
	stopped bool
}

// Stop ends reading: the lexer moves to the end of the text without an error.
func (l *Lexer) Stop() { l.stopped, l.Pos = true, len(l.Data) }

// Stopped reports whether reading ended, by a syntax error or by Stop.
func (l *Lexer) Stopped() bool { return l.stopped }

func (l *Lexer) fail(at int, reason string) {
	if !l.stopped {
		l.Reason, l.At = reason, at
	}
	l.Stop()
}

// advance moves to end, the end of a token, unless it is negative: the token had a syntax error.
func (l *Lexer) advance(end int) bool {
	if end >= 0 {
		l.Pos = end
	}
	return end >= 0
}

// Space skips white space.
func (l *Lexer) Space() { l.Pos = l.space(l.Pos) }

// Peek skips white space and returns the first byte of the next token, or 0 at the end of the text.
func (l *Lexer) Peek() byte {
	if l.Space(); l.Pos < len(l.Data) {
		return l.Data[l.Pos]
	}
	return 0
}

// End checks that only white space is left.
func (l *Lexer) End() {
	if l.Space(); l.Pos < len(l.Data) {
		l.fail(l.Pos, "unexpected text after the value")
	}
}

// Open enters the array or object at Pos.
func (l *Lexer) Open() {
	if l.Depth++; l.Depth > l.MaxDepth {
		l.tooDeep(l.Pos)
		return
	}
	l.Pos++
}

// More moves to the next item of the open array, or to the next key of the open object. The caller passes the closing bracket,
// and first for the first item. More returns false at the end, after taking the closing bracket.
func (l *Lexer) More(closing byte, first bool) bool {
	switch c := l.Peek(); {
	case c == closing:
		l.Pos++
		l.Depth--
		return false
	case first:
		return !l.stopped
	case c == ',':
		l.Pos++
		l.Space()
		return true
	}
	l.fail(l.Pos, unclosed[closing])
	return false
}

// Key takes a key and its colon, and moves to the value. The key is a slice of Data unless it contains escapes.
func (l *Lexer) Key() []byte {
	if !l.atKey() {
		return nil
	}
	key := l.Text()
	l.colon()
	return key
}

func (l *Lexer) atKey() bool {
	if l.Peek() != '"' {
		l.fail(l.Pos, noKey)
	}
	return !l.stopped
}

func (l *Lexer) colon() {
	if l.Peek() != ':' {
		l.fail(l.Pos, noColon)
		return
	}
	l.Pos++
	l.Space()
}

// Members takes the object at Pos and calls each for every member, with Pos at the member's value. Each must take that value.
func (l *Lexer) Members(each func(key []byte)) {
	l.Open()
	for first := true; l.More('}', first); first = false {
		if key := l.Key(); !l.stopped {
			each(key)
		}
	}
}

// Items takes the array at Pos and calls each for every item, with Pos at the item. Each must take it.
func (l *Lexer) Items(each func(i int)) {
	l.Open()
	for i := 0; l.More(']', i == 0); i++ {
		each(i)
	}
}

// Literal takes the literal word, which is true, false or null.
func (l *Lexer) Literal(word string) { l.advance(l.literal(l.Pos, word)) }

// Number takes a number and returns it as written, as a slice of Data.
func (l *Lexer) Number() []byte {
	start := l.Pos
	if !l.advance(l.number(start)) {
		return nil
	}
	return l.Data[start:l.Pos]
}

// Text takes the string at Pos and returns its characters, as a slice of Data unless it contains escapes.
func (l *Lexer) Text() []byte {
	start := l.Pos
	end, plain := l.string(start)
	if !l.advance(end) {
		return nil
	}
	s := l.Data[start+1 : end-1]
	if !plain {
		s = unescape(s)
	}
	return s
}

// Skip takes a value of any kind.
func (l *Lexer) Skip() { l.advance(l.value(l.space(l.Pos), l.Depth, nil)) }

// Raw takes a value of any kind and returns it as written, as a slice of Data.
func (l *Lexer) Raw() []byte {
	l.Space()
	start := l.Pos
	if !l.advance(l.value(start, l.Depth, nil)) {
		return nil
	}
	return l.Data[start:l.Pos]
}
