package match

import (
	"fmt"

	"github.com/orch-project/orch/pkg/isolation"
)

// MaxEffort bounds the comparisons of one event with all filters of an index. Its unit is a byte of a text or pattern that is compared, of
// which a processor compares about 500 million in a second, and more unless patterns are hostile (BenchmarkEffort).
const MaxEffort = 128 << 20

// specialEffort is the effort of one character of a text beside one of a segment with "?" or sets.
const specialEffort = 4

// ErrEffort matches the error of an event that cannot be compared with all filters. Each further attempt ends in it, too.
var ErrEffort = isolation.NewPermanent("the patterns of the workspace and the labels of the event are too long to be compared")

// effort counts what the comparison of an event takes. Beyond MaxEffort nothing is compared, and the event fits nothing.
type effort struct{ spent int }

// spend adds to the effort, and reports whether the comparison may be made.
func (e *effort) spend(n int) bool {
	if e.spent > MaxEffort {
		return false
	}
	e.spent += n
	return e.spent <= MaxEffort
}

// error is ErrEffort with its bound after too much effort, and nil otherwise.
func (e *effort) error() error {
	if e.spent <= MaxEffort {
		return nil
	}
	return fmt.Errorf("%w: more than %d bytes", ErrEffort, MaxEffort)
}
