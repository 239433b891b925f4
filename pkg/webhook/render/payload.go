package render

import (
	"slices"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/jsontree"
)

// These methods take a part of the payload and append it to the payload of the memory, as jsontree.Append writes its tree.

func (s *scanner) value() bool {
	m := s.memory
	switch s.Peek() {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		s.write()
	case 't':
		s.Literal("true")
		m.payload = append(m.payload, "true"...)
	case 'f':
		s.Literal("false")
		m.payload = append(m.payload, "false"...)
	case 'n':
		s.Literal("null")
		m.payload = append(m.payload, "null"...)
	default:
		number := s.Number()
		m.payload = append(m.payload, number...)
		return !s.Stopped() && len(number) <= jsontree.EventLimits().MaxDigits
	}
	return !s.Stopped()
}

// write takes the string at Pos.
func (s *scanner) write() {
	m := s.memory
	written, unescaped := s.quoted()
	if unescaped == nil {
		m.payload = append(m.payload, written...)
		return
	}
	m.payload = jsontoken.AppendString(m.payload, string(unescaped))
}

// object gives up for an escaped or a repeated key, and for many keys.
func (s *scanner) object() bool {
	m := s.memory
	m.payload = append(m.payload, '{')
	var keys [maxScannedKeys]string
	n := 0
	s.Open()
	for ; s.More('}', n == 0); n++ {
		if n == maxScannedKeys || s.Peek() != '"' {
			return false
		}
		key, unescaped := s.quoted()
		if unescaped != nil || slices.Contains(keys[:n], key) || s.Peek() != ':' {
			return false
		}
		s.Pos++
		keys[n] = key
		if n > 0 {
			m.payload = append(m.payload, ',')
		}
		m.payload = append(append(m.payload, key...), ':')
		if !s.value() {
			return false
		}
	}
	m.payload = append(m.payload, '}')
	return !s.Stopped()
}

func (s *scanner) array() bool {
	m := s.memory
	m.payload = append(m.payload, '[')
	s.Open()
	for first := true; s.More(']', first); first = false {
		if !first {
			m.payload = append(m.payload, ',')
		}
		if !s.value() {
			return false
		}
	}
	m.payload = append(m.payload, ']')
	return !s.Stopped()
}
