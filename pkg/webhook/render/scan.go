package render

import (
	"encoding/json"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxScannedKeys bounds the keys of an object in a scanned payload, because each is compared with the ones before.
const maxScannedKeys = 16

// scanner reads an event from the tokens of its text, without a tree. It gives up for every text that is not an event, and for
// what is rare: the tree decides then. It never accepts a text with another result than the tree.
type scanner struct {
	jsontoken.Lexer
	text   string
	memory *EventMemory
	rest   jsontree.Object // The fields occurred, id and follows.
}

// The fields of an event, as bits of those that were read.
const (
	fieldEvent = 1 << iota
	fieldResource
	fieldRelated
	fieldPayload
	fieldOccurred
	fieldID
	fieldFollows
)

// scan reads the event of a text into the memory. It reports false if it gives up.
func (m *EventMemory) scan(text string) bool {
	m.text = append(m.text[:0], text...)
	s := scanner{Lexer: jsontoken.Lexer{Data: m.text, MaxDepth: jsontree.EventLimits().MaxDepth}, text: text, memory: m}
	if s.Peek() != '{' {
		return false
	}
	seen := 0
	s.Open()
	for first := true; s.More('}', first); first = false {
		key, ok := s.key()
		if !ok {
			return false
		}
		field := fieldOf(key)
		if seen&field != 0 || !s.field(field, key) {
			return false
		}
		seen |= field
	}
	const required = fieldEvent | fieldResource
	if s.End(); s.Stopped() || seen&required != required {
		return false
	}
	for _, read := range []func(*jsontree.Object, *orchv1.ReceivedEvent) error{readOccurred, readID, readFollows} {
		if read(&s.rest, &m.event) != nil {
			return false
		}
	}
	return true
}

func fieldOf(key string) int {
	switch key {
	case "event":
		return fieldEvent
	case "resource":
		return fieldResource
	case "related":
		return fieldRelated
	case "payload":
		return fieldPayload
	case "occurred":
		return fieldOccurred
	case "id":
		return fieldID
	case "follows":
		return fieldFollows
	}
	return 0
}

// field takes the value of a field; 0 is an unknown one.
func (s *scanner) field(field int, key string) (ok bool) {
	e := &s.memory.event
	switch field {
	case fieldEvent:
		e.Event, ok = s.characters()
	case fieldResource:
		ok = s.labels(s.memory.labels())
		e.Resource = &s.memory.resource
	case fieldRelated:
		ok = s.related()
	case fieldPayload:
		if s.Peek() == 'n' {
			s.Literal("null")
			return !s.Stopped()
		}
		if ok = s.Peek() == '{' && s.object(); ok {
			e.Payload = s.memory.payload
		}
	case fieldOccurred, fieldID, fieldFollows:
		ok = s.scalar(key)
	default:
		ok = len(s.Raw()) <= jsontree.EventLimits().MaxDigits
	}
	return ok && !s.Stopped()
}

// quoted takes the string at Pos and returns it as written. Its characters are those between the quotes, unless it has escapes;
// then unescaped has them.
func (s *scanner) quoted() (written string, unescaped []byte) {
	start := s.Pos
	b := s.Text()
	if s.Stopped() {
		return `""`, nil
	}
	written = s.text[start:s.Pos]
	if len(b) < len(written)-len(`""`) { // Every escape is longer than its character.
		unescaped = b
	}
	return written, unescaped
}

// characters takes a string. It shares memory with the text if it has no escapes.
func (s *scanner) characters() (string, bool) {
	if s.Peek() != '"' {
		return "", false
	}
	written, unescaped := s.quoted()
	if unescaped != nil {
		return string(unescaped), true
	}
	return written[1 : len(written)-1], !s.Stopped()
}

// key takes a key and its colon.
func (s *scanner) key() (string, bool) {
	key, ok := s.characters()
	if !ok || s.Peek() != ':' {
		return "", false
	}
	s.Pos++
	return key, true
}

// labels takes an object of strings.
func (s *scanner) labels(to map[string]string) bool {
	if s.Peek() != '{' {
		return false
	}
	s.Open()
	for first := true; s.More('}', first); first = false {
		key, ok := s.key()
		if !ok {
			return false
		}
		if to[key], ok = s.characters(); !ok {
			return false
		}
	}
	return !s.Stopped()
}

func (s *scanner) related() bool {
	if s.Peek() != '[' {
		return false
	}
	s.Open()
	for first := true; s.More(']', first); first = false {
		if !s.labels(s.memory.addRelated()) {
			return false
		}
	}
	return !s.Stopped()
}

// scalar takes null, a string or a number, for the functions that read a tree.
func (s *scanner) scalar(key string) bool {
	switch c := s.Peek(); {
	case c == 'n':
		s.Literal("null")
	case c == '"':
		value, _ := s.characters()
		s.rest.Set(key, value)
	case c == '-' || '0' <= c && c <= '9':
		number := s.Number()
		s.rest.Set(key, json.Number(number))
		return len(number) <= maxNumber
	default:
		return false
	}
	return !s.Stopped()
}
