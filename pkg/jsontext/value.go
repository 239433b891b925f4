package jsontext

// MaxDepth is how deep Value and Valid let arrays and objects nest.
const MaxDepth = 10_000

// Valid tells whether text is one JSON value, white space around it allowed.
func Valid(text []byte) bool {
	l := Lexer{Data: text, MaxDepth: MaxDepth}
	end := l.walk(l.space(0), 0, nil)
	return end >= 0 && l.space(end) == len(text)
}

// Value gives the end of the value that begins at i, where no white space is.
func Value(text []byte, i int) (end int, ok bool) {
	l := Lexer{Data: text, MaxDepth: MaxDepth}
	end = l.walk(i, 0, nil)
	return end, end >= 0
}

// DropSpace copies a valid value without white space.
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
