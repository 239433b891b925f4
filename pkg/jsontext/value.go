package jsontext

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 10_000

// Space gives the place of the first byte from i on that is no white space.
func Space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// Valid tells whether text is one JSON value, white space around it allowed.
func Valid(text []byte) bool {
	end, ok := Value(text, Space(text, 0))
	return ok && Space(text, end) == len(text)
}

// Value gives the end of the value that begins at i, where no white space is.
func Value(text []byte, i int) (end int, ok bool) { return value(text, i, 0) }

func value(text []byte, i, depth int) (end int, ok bool) {
	if i >= len(text) {
		return i, false
	}
	switch text[i] {
	case '"':
		end, _, ok = String(text, i)
		return end, ok
	case '{':
		return object(text, i, depth+1)
	case '[':
		return array(text, i, depth+1)
	case 't':
		return literal(text, i, "true")
	case 'f':
		return literal(text, i, "false")
	case 'n':
		return literal(text, i, "null")
	}
	return number(text, i)
}

func object(text []byte, i, depth int) (end int, ok bool) {
	if depth > MaxDepth {
		return i, false
	}
	i = Space(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1, true
	}
	for i < len(text) && text[i] == '"' {
		if i, _, ok = String(text, i); !ok {
			return i, false
		}
		if i = Space(text, i); i >= len(text) || text[i] != ':' {
			return i, false
		}
		if i, ok = value(text, Space(text, i+1), depth); !ok {
			return i, false
		}
		if i = Space(text, i); i >= len(text) {
			return i, false
		}
		switch text[i] {
		case '}':
			return i + 1, true
		case ',':
			i = Space(text, i+1)
		default:
			return i, false
		}
	}
	return i, false
}

func array(text []byte, i, depth int) (end int, ok bool) {
	if depth > MaxDepth {
		return i, false
	}
	i = Space(text, i+1)
	if i < len(text) && text[i] == ']' {
		return i + 1, true
	}
	for i < len(text) {
		if i, ok = value(text, i, depth); !ok {
			return i, false
		}
		if i = Space(text, i); i >= len(text) {
			return i, false
		}
		switch text[i] {
		case ']':
			return i + 1, true
		case ',':
			i = Space(text, i+1)
		default:
			return i, false
		}
	}
	return i, false
}

func literal(text []byte, i int, word string) (end int, ok bool) {
	if len(text)-i < len(word) || string(text[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func number(text []byte, i int) (end int, ok bool) {
	if i < len(text) && text[i] == '-' {
		i++
	}
	whole := i
	if i = digits(text, i); i == whole || text[whole] == '0' && i > whole+1 {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		from := i + 1
		if i = digits(text, from); i == from {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		from := i
		if i = digits(text, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}
