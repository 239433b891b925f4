package restjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// ErrSyntax is wrapped when text is no JSON.
var ErrSyntax = errors.New("restjson: not valid JSON")

// Compact checks one JSON value (grammar, UTF-8, surrogates, depth) and drops its whitespace; the rest stays as it was
// written. It is how free JSON that does not come from a request gets into a message.
func Compact(data []byte) ([]byte, error) {
	l := lexer(data)
	raw := compact(&l)
	l.End()
	switch {
	case l.Reason != "":
		return nil, fmt.Errorf("%w: %s at byte %d", ErrSyntax, l.Reason, l.At)
	case l.LoneSurrogate:
		return nil, fmt.Errorf("%w: lone surrogate", ErrSyntax)
	}
	return raw, nil
}

// compact takes a value and gives a copy of it without whitespace.
func compact(l *jsontoken.Lexer) []byte {
	l.Space()
	spaces := l.Spaces
	raw := l.Raw()
	if l.Spaces == spaces {
		return bytes.Clone(raw)
	}
	return jsontoken.DropSpace(raw)
}
