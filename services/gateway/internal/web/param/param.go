package param

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// DefaultRows is the number of rows of a page without the parameter n.
	DefaultRows = 50
	// MaxRows is the largest number of rows.
	MaxRows = 200
	// maxText bounds texts and repeated parameters.
	maxText   = 500
	maxValues = 50
)

// Invalid reports a parameter whose value does not parse.
type Invalid struct {
	// Name and Value are the parameter as the URL has it.
	Name, Value string
	// Expected describes what the parameter accepts.
	Expected string
}

// Error implements error.
func (e *Invalid) Error() string {
	return fmt.Sprintf("parameter %q: %q is not %s", e.Name, e.Value, e.Expected)
}

// Reader reads the parameters of one request. The first bad value is kept; Err returns it.
type Reader struct {
	values url.Values
	now    time.Time
	err    error
}

// NewReader returns a reader of the parameters. Offsets count from now.
func NewReader(values url.Values, now time.Time) *Reader { return &Reader{values: values, now: now} }

// Again returns a reader of other parameters with the same time.
func (r *Reader) Again(values url.Values) *Reader { return NewReader(values, r.now) }

// Err returns the first bad value as *Invalid, nil without one.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail(name, value, expected string) {
	if r.err == nil {
		r.err = &Invalid{Name: name, Value: value, Expected: expected}
	}
}

// Text returns a text of at most 500 bytes, empty without one.
func (r *Reader) Text(name string) string {
	value := strings.TrimSpace(r.values.Get(name))
	if len(value) > maxText || !utf8.ValidString(value) {
		r.fail(name, cut(value), fmt.Sprintf("a text of at most %d bytes", maxText))
		return ""
	}
	return value
}

func cut(value string) string {
	value = strings.ToValidUTF8(value, "\uFFFD")
	if len(value) > 40 {
		return strings.ToValidUTF8(value[:40], "") + "…"
	}
	return value
}

// Texts returns the non-empty values of a repeatable parameter.
func (r *Reader) Texts(name string) []string {
	var texts []string
	for _, value := range r.values[name] {
		if value = strings.TrimSpace(value); value == "" || slices.Contains(texts, value) {
			continue
		}
		if len(value) > maxText || !utf8.ValidString(value) || len(texts) == maxValues {
			r.fail(name, cut(value), fmt.Sprintf("one of at most %d texts of at most %d bytes", maxValues, maxText))
			return nil
		}
		texts = append(texts, value)
	}
	return texts
}

// UUIDs returns the values of a repeatable parameter in their canonical form.
func (r *Reader) UUIDs(name string) []string {
	var ids []string
	for _, value := range r.Texts(name) {
		id, err := uuid.Parse(value)
		if err != nil {
			r.fail(name, cut(value), "a UUID")
			return nil
		}
		ids = append(ids, id.String())
	}
	return ids
}

// Words returns the values of a repeatable parameter, each one of the allowed words. Case does not matter.
func (r *Reader) Words(name string, allowed ...string) []string {
	var words []string
	for _, value := range r.Texts(name) {
		i := slices.IndexFunc(allowed, func(word string) bool { return strings.EqualFold(word, value) })
		if i < 0 {
			r.fail(name, cut(value), "one of "+strings.Join(allowed, ", "))
			return nil
		}
		words = append(words, allowed[i])
	}
	return words
}

// Word returns one of the allowed words; absent means the first.
func (r *Reader) Word(name string, allowed ...string) string {
	words := r.Words(name, allowed...)
	if len(words) > 1 {
		r.fail(name, cut(words[1]), "a single value")
	}
	if len(words) == 0 {
		return allowed[0]
	}
	return words[0]
}

// Int returns a number within bounds; absent means the default.
func (r *Reader) Int(name string, lowest, highest, otherwise int) int {
	value := r.values.Get(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < lowest || n > highest {
		r.fail(name, cut(value), fmt.Sprintf("a number from %d to %d", lowest, highest))
		return otherwise
	}
	return n
}

// Rows returns the parameter n.
func (r *Reader) Rows() int { return r.Int("n", 1, MaxRows, DefaultRows) }
