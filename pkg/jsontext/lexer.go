package jsontext

// Lexer takes tokens off the front of Data[Pos:]. At the first fault it stops and stands at the end, so that callers need to look
// at Stopped only where they loop, and what is taken afterwards is empty. A copy of it looks ahead.
type Lexer struct {
	Data []byte
	Pos  int
	// MaxDepth is how deep arrays and objects may nest.
	MaxDepth int
	// Depth is how many of them are open.
	Depth int
	// Spaces counts the bytes of white space that were gone over.
	Spaces int
	// Lone tells that a string had half of a surrogate pair. Whoever minds sets it back.
	Lone bool
	// Reason says what is wrong with the text, and At where; empty when nothing is.
	Reason string
	At     int

	stopped bool
}

// Stop takes nothing more.
func (l *Lexer) Stop() { l.stopped, l.Pos = true, len(l.Data) }

// Stopped tells that nothing more is taken: the text has a fault, or the caller had enough.
func (l *Lexer) Stopped() bool { return l.stopped }

func (l *Lexer) fail(at int, reason string) {
	if !l.stopped {
		l.Reason, l.At = reason, at
	}
	l.Stop()
}

// take stands at the end of what was taken, which is negative after a fault.
func (l *Lexer) take(end int) bool {
	if end >= 0 {
		l.Pos = end
	}
	return end >= 0
}

// Space goes over white space.
func (l *Lexer) Space() { l.Pos = l.space(l.Pos) }

// Peek gives the first byte of the next token; 0 at the end.
func (l *Lexer) Peek() byte {
	if l.Space(); l.Pos < len(l.Data) {
		return l.Data[l.Pos]
	}
	return 0
}

// End takes the end of the text.
func (l *Lexer) End() {
	if l.Space(); l.Pos < len(l.Data) {
		l.fail(l.Pos, "unexpected text after the value")
	}
}

// Open goes into the array or object that is ahead.
func (l *Lexer) Open() {
	if l.Depth++; l.Depth > l.MaxDepth {
		l.tooDeep(l.Pos)
		return
	}
	l.Pos++
}

// More stands before the next value of an array, or key of an object, that was gone into; first is said of the first. It is
// false when there is none: then it stands behind the closing bracket.
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

// Key takes a key and its colon, and stands before the value. The key is a part of the text unless it has escapes.
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

// Members calls each for every member of the object that is ahead, standing before its value, which each must take.
func (l *Lexer) Members(each func(key []byte)) {
	l.Open()
	for first := true; l.More('}', first); first = false {
		if key := l.Key(); !l.stopped {
			each(key)
		}
	}
}

// Items calls each for every item of the array that is ahead, standing before it; each must take it.
func (l *Lexer) Items(each func(i int)) {
	l.Open()
	for i := 0; l.More(']', i == 0); i++ {
		each(i)
	}
}

// Literal takes one of true, false and null.
func (l *Lexer) Literal(word string) { l.take(l.literal(l.Pos, word)) }

// Number takes a number and gives it as it is written; it is a part of the text.
func (l *Lexer) Number() []byte {
	start := l.Pos
	if !l.take(l.number(start)) {
		return nil
	}
	return l.Data[start:l.Pos]
}

// Text takes the string that is ahead and gives its characters, which are a part of the text unless it has escapes.
func (l *Lexer) Text() []byte {
	start := l.Pos
	end, plain := l.string(start)
	if !l.take(end) {
		return nil
	}
	s := l.Data[start+1 : end-1]
	if !plain {
		s = unescape(s)
	}
	return s
}

// Skip takes a value.
func (l *Lexer) Skip() { l.take(l.walk(l.space(l.Pos), l.Depth, nil)) }

// Raw takes a value and gives it as it is written; it is a part of the text.
func (l *Lexer) Raw() []byte {
	l.Space()
	start := l.Pos
	if !l.take(l.walk(start, l.Depth, nil)) {
		return nil
	}
	return l.Data[start:l.Pos]
}
