package vocabulary

import (
	"errors"
	"fmt"
	"strings"
)

// ErrConverting reports data whose conversion to another vocabulary has begun and not ended: it has names of both.
var ErrConverting = errors.New("its conversion to another vocabulary is not complete")

// Conversion is a conversion of data that has begun. Its text takes the place of the vocabulary in the marks of the data, so
// that no server of any version accepts them.
type Conversion struct{ From, To Vocabulary }

// conversionInfix separates the vocabularies in the text of a conversion.
const conversionInfix = "-to-"

// String returns the mark, such as "orch-to-prefect".
func (c Conversion) String() string { return c.From.String() + conversionInfix + c.To.String() }

// ParseConversion parses a mark; ok is false for any other text.
func ParseConversion(mark string) (c Conversion, ok bool) {
	from, to, ok := strings.Cut(mark, conversionInfix)
	if !ok || from == "" || to == "" {
		return c, false
	}
	var errs [2]error
	c.From, errs[0] = Parse(from)
	c.To, errs[1] = Parse(to)
	return c, errors.Join(errs[:]...) == nil
}

// Err returns an error that names the command which completes the conversion.
func (c Conversion) Err() error {
	return fmt.Errorf("%w: complete it with: orch vocabulary convert --to %s", ErrConverting, c.To)
}
