package jsontext

// MaxDepth is how deep Value and Valid let arrays and objects be nested.
const MaxDepth = 10_000

// Scanner goes over values of a text.
type Scanner struct {
	Text []byte
	// Depth is how deep arrays and objects may be nested.
	Depth int
	// Spaces counts the bytes of white space that were gone over.
	Spaces int
}

// Valid tells whether text is one JSON value, white space around it allowed.
func Valid(text []byte) bool {
	s := Scanner{Text: text, Depth: MaxDepth}
	end, ok := s.Value(s.Space(0))
	return ok && s.Space(end) == len(text)
}

// Value gives the end of the value that begins at i, where no white space is.
func Value(text []byte, i int) (end int, ok bool) {
	s := Scanner{Text: text, Depth: MaxDepth}
	return s.Value(i)
}

// Space gives the place of the first byte from i on that is no white space.
func (s *Scanner) Space(i int) int {
	from := i
	for i < len(s.Text) && (s.Text[i] == ' ' || s.Text[i] == '\n' || s.Text[i] == '\r' || s.Text[i] == '\t') {
		i++
	}
	s.Spaces += i - from
	return i
}

// Value gives the end of the value that begins at i, where no white space is.
func (s *Scanner) Value(i int) (end int, ok bool) { return s.value(i, 0) }

func (s *Scanner) value(i, depth int) (end int, ok bool) {
	if i >= len(s.Text) {
		return i, false
	}
	switch s.Text[i] {
	case '"':
		end, _, ok = String(s.Text, i)
		return end, ok
	case '{':
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return literal(s.Text, i, "true")
	case 'f':
		return literal(s.Text, i, "false")
	case 'n':
		return literal(s.Text, i, "null")
	}
	return number(s.Text, i)
}

func (s *Scanner) object(i, depth int) (end int, ok bool) {
	if depth > s.Depth {
		return i, false
	}
	i = s.Space(i + 1)
	if i < len(s.Text) && s.Text[i] == '}' {
		return i + 1, true
	}
	for i < len(s.Text) && s.Text[i] == '"' {
		if i, _, ok = String(s.Text, i); !ok {
			return i, false
		}
		if i = s.Space(i); i >= len(s.Text) || s.Text[i] != ':' {
			return i, false
		}
		if i, ok = s.value(s.Space(i+1), depth); !ok {
			return i, false
		}
		if i = s.Space(i); i >= len(s.Text) {
			return i, false
		}
		switch s.Text[i] {
		case '}':
			return i + 1, true
		case ',':
			i = s.Space(i + 1)
		default:
			return i, false
		}
	}
	return i, false
}

func (s *Scanner) array(i, depth int) (end int, ok bool) {
	if depth > s.Depth {
		return i, false
	}
	i = s.Space(i + 1)
	if i < len(s.Text) && s.Text[i] == ']' {
		return i + 1, true
	}
	for i < len(s.Text) {
		if i, ok = s.value(i, depth); !ok {
			return i, false
		}
		if i = s.Space(i); i >= len(s.Text) {
			return i, false
		}
		switch s.Text[i] {
		case ']':
			return i + 1, true
		case ',':
			i = s.Space(i + 1)
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
