package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// expected is what JSON text lacks where the standard library stops, by what its message ends with, as the authors of flows
// know it: from Python.
var expected = []struct{ message, vocab string }{
	{"looking for beginning of object key string", "Expecting property name enclosed in double quotes"},
	{"after object key", "Expecting ':' delimiter"},
	{"after object key:value pair", "Expecting ',' delimiter"},
	{"after array element", "Expecting ',' delimiter"},
	{"after top-level value", "Extra data"},
	{"in string literal", "Invalid control character at"},
	{"in string escape code", "Invalid \\escape"},
}

// syntax says where a text that is no JSON stops to be any, and what was expected there: the line, the column, and the characters before.
func syntax(source string) string {
	// Only this way of reading counts how far it came.
	err := json.Unmarshal([]byte(source), new(json.RawMessage))
	message, vocab := fmt.Sprint(err), "Expecting value"
	for _, e := range expected {
		if strings.HasSuffix(message, e.message) {
			vocab = e.vocab
		}
	}
	before := source
	// The offset counts the byte that was not expected; at the end of the text there is none.
	if fieldError, ok := errors.AsType[*json.SyntaxError](err); ok && !strings.HasPrefix(message, "unexpected end") {
		before = source[:min(max(0, int(fieldError.Offset)-1), len(source))]
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("%s: line %d column %d (char %d)", vocab, strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1,
		utf8.RuneCountInString(before))
}
