package parameters

import (
	"errors"
	"regexp"
	regexpsyntax "regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxInstructions bounds the instructions of all patterns of a schema. A counted repetition has the instructions of its part as often as it
// counts, so a short pattern may take much memory.
const maxInstructions = 20_000

var errPatterns = errors.New("the patterns of the schema are too large")

// Pattern is a regular expression of a schema.
type Pattern struct {
	*regexp.Regexp
	// Instructions is about the number of instructions; a character of a text costs at most as many steps.
	Instructions int
}

// patternEngine returns the engine for the patterns of one schema.
func patternEngine() jsonschema.RegexpEngine {
	left := maxInstructions
	return func(text string) (jsonschema.Regexp, error) {
		parsed, err := regexpsyntax.Parse(text, regexpsyntax.Perl)
		if err != nil {
			return nil, err
		}
		n := instructions(parsed)
		if left -= n; left < 0 {
			return nil, errPatterns
		}
		compiled, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return Pattern{compiled, n}, nil
	}
}

// instructions estimates the instructions of a regular expression. Ranges of characters count too, eight as one instruction.
func instructions(re *regexpsyntax.Regexp) int {
	const rangesPerInstruction = 8
	n := 1
	switch re.Op {
	case regexpsyntax.OpLiteral:
		n = len(re.Rune)
	case regexpsyntax.OpCharClass:
		n += len(re.Rune) / (2 * rangesPerInstruction)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == regexpsyntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return n
}
