package query

import (
	"fmt"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// MaxPattern bounds the bytes of a search text. Servers refuse patterns beyond some tens of kilobytes with an error
// that means nothing to a client.
const MaxPattern = 8 << 10

// literal returns the pattern that matches exactly a text, in RE2 and in PCRE alike.
func literal(text string) (string, error) {
	if len(text) > MaxPattern {
		return "", fmt.Errorf("search for a text of %d bytes: %w", len(text), ErrLongText)
	}
	// A pattern cannot contain a NUL byte, but it can escape one.
	return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`), nil
}

func regex(path, pattern, options string) match {
	d := bson.D{{Key: "$regex", Value: pattern}}
	if options != "" {
		d = append(d, bson.E{Key: "$options", Value: options})
	}
	return match{{Key: path, Value: d}}
}

// contains matches values that contain the text, ignoring case.
func contains(path, text string) (node, error) {
	pattern, err := literal(text)
	if err != nil {
		return nil, err
	}
	return regex(path, pattern, "i"), nil
}

// like is contains with wildcards: each % of the text matches any sequence of characters, so a leading or trailing %
// changes nothing.
func like(path, text string) (node, error) {
	pattern, err := literal(strings.Trim(text, "%"))
	if err != nil {
		return nil, err
	}
	return search{match: regex(path, wildcards.ReplaceAllLiteralString(pattern, anything), "i"), text: text}, nil
}

// anything is the pattern of any sequence of characters, line ends included.
const anything = `[\s\S]*`

// wildcards matches one or more wildcards. A literal pattern does not escape %.
var wildcards = regexp.MustCompile("%+")

// not returns the operator document that negates a regex criterion.
func not(m match) bson.D { return bson.D{{Key: "$not", Value: m[0].Value}} }
