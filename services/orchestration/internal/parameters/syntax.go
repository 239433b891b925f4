package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// expected maps the standard library's JSON errors, by suffix, to the wording of Python, which flow authors know.
var expected = []struct{ message, vocab string }{
	{"looking for beginning of object key string", "Expecting property name enclosed in double quotes"},
	{"after object key", "Expecting ':' delimiter"},
	{"after object key:value pair", "Expecting ',' delimiter"},
	{"after array element", "Expecting ',' delimiter"},
	{"after top-level value", "Extra data"},
	{"in string literal", "Invalid control character at"},
	{"in string escape code", "Invalid \\escape"},
}

// syntax locates a JSON syntax error: line, column, offset, and what was expected there.
func syntax(source string) string {
	// Only the streaming decoder reports its position.
	err := json.Unmarshal([]byte(source), new(json.RawMessage))
	message, vocab := fmt.Sprint(err), "Expecting value"
	for _, e := range expected {
		if strings.HasSuffix(message, e.message) {
			vocab = e.vocab
		}
	}
	before := source
	// The offset includes the unexpected byte; at the end of the text there is none.
	if fieldError, ok := errors.AsType[*json.SyntaxError](err); ok && !strings.HasPrefix(message, "unexpected end") {
		before = source[:min(max(0, int(fieldError.Offset)-1), len(source))]
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("%s: line %d column %d (char %d)", vocab, strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1,
		utf8.RuneCountInString(before))
}
