package query

import (
	"fmt"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxPattern bounds the bytes of a text that is searched for; servers refuse patterns beyond some tens of kilobytes with
// an error that a client could not understand.
const maxPattern = 8 << 10

// literal is the pattern that matches a text and nothing else, in RE2 and in PCRE alike.
func literal(text string) (string, error) {
	if len(text) > maxPattern {
		return "", fmt.Errorf("%w: a text of %d bytes is too long to be searched for", ErrOperand, len(text))
	}
	// A pattern cannot hold a NUL byte, but it can name one.
	return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`), nil
}

func regex(path, pattern, options string) match {
	d := bson.D{{Key: "$regex", Value: pattern}}
	if options != "" {
		d = append(d, bson.E{Key: "$options", Value: options})
	}
	return match{{Key: path, Value: d}}
}

// contains matches values of which text is a part, in any case.
func contains(path, text string) (node, error) {
	pattern, err := literal(text)
	if err != nil {
		return nil, err
	}
	return regex(path, pattern, "i"), nil
}

// like is contains with wildcards: each % of the text stands for any run of characters, so those at its ends say nothing.
func like(path, text string) (node, error) {
	pattern, err := literal(strings.Trim(text, "%"))
	if err != nil {
		return nil, err
	}
	return regex(path, wildcards.ReplaceAllLiteralString(pattern, anything), "i"), nil
}

// anything is the pattern of any run of characters, ends of lines among them.
const anything = `[\s\S]*`

// wildcards are one or several in a row. A literal pattern leaves % as it is.
var wildcards = regexp.MustCompile("%+")

// not is the operator document that negates a regex criterion.
func not(m match) bson.D { return bson.D{{Key: "$not", Value: m[0].Value}} }
