package restjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// ErrSyntax is wrapped when text is not JSON.
var ErrSyntax = errors.New("restjson: not valid JSON")

// Compact validates one JSON value (grammar, UTF-8, surrogates, depth) and drops its white space. It copies everything else as
// written. Use it for free JSON that does not come from a request.
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

// compact takes a value and returns a copy of it without white space.
func compact(l *jsontoken.Lexer) []byte {
	l.Space()
	spaces := l.Spaces
	raw := l.Raw()
	if l.Spaces == spaces {
		return bytes.Clone(raw)
	}
	return jsontoken.DropSpace(raw)
}
