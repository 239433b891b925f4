package jsontoken

// MaxDepth is the nesting depth that ValueEnd and Valid accept.
const MaxDepth = 10_000

// Valid reports whether text is one JSON value, with optional white space around it.
func Valid(text []byte) bool {
	l := Lexer{Data: text, MaxDepth: MaxDepth}
	end := l.value(l.space(0), 0, nil)
	return end >= 0 && l.space(end) == len(text)
}

// ValueEnd returns the end of the value at offset i, which must not be white space. It returns false for a syntax error.
func ValueEnd(text []byte, i int) (end int, ok bool) {
	l := Lexer{Data: text, MaxDepth: MaxDepth}
	end = l.value(i, 0, nil)
	return end, end >= 0
}

// DropSpace returns a copy of a valid value without the white space between tokens.
func DropSpace(value []byte) []byte {
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case ' ', '\n', '\r', '\t':
		case '"':
			start := i
			for i++; value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
			out = append(out, value[start:i+1]...)
		default:
			out = append(out, c)
		}
	}
	return out
}
