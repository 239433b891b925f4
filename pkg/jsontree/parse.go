package jsontree

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// ErrNotObject is returned by ParseObject for a JSON value of another type.
var ErrNotObject = errors.New("not a JSON object")

// Limits bounds what a text may contain.
type Limits struct {
	// MaxDepth is the maximum nesting depth of arrays and objects.
	MaxDepth int
	// MaxValues is the maximum number of values; 0 means no limit.
	MaxValues int
	// MaxDigits is the maximum number of digits of an integer; 0 means no limit.
	MaxDigits int
}

// EventLimits returns the limits for JSON that becomes part of an event. The depth leaves room for the event around it, within the
// 128 levels of pkg/restjson. The digits are those of Python's default limit: a client could not read a page with a longer integer.
func EventLimits() Limits {
	return Limits{MaxDepth: 120, MaxValues: jsontoken.MaxValues, MaxDigits: 4300}
}

// Parse reads one JSON value with optional white space around it, within jsontoken.MaxDepth and jsontoken.MaxValues. A text that is not JSON returns a
// *jsontoken.SyntaxError. Strings of the value share memory with text.
func Parse(text string) (Value, error) {
	return Limits{MaxDepth: jsontoken.MaxDepth, MaxValues: jsontoken.MaxValues}.Parse(text)
}

// ParseObject reads a JSON object. An empty text is an empty object.
func ParseObject(text []byte) (*Object, error) {
	if len(text) == 0 {
		return &Object{}, nil
	}
	v, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("parse JSON: %w", err)
	}
	object, ok := v.(*Object)
	if !ok {
		return nil, fmt.Errorf("parse JSON: %w", ErrNotObject)
	}
	return object, nil
}

// Parse is like the function Parse, within limits.
func (l Limits) Parse(text string) (Value, error) {
	b := builders.Get().(*builder)
	defer b.release()
	b.maxDigits = l.MaxDigits
	limits := jsontoken.Limits{Depth: l.MaxDepth, Values: l.MaxValues}
	err := jsontoken.Scan(text, limits, b)
	if err != nil && !utf8.ValidString(text) {
		b.reset()
		err = jsontoken.Scan(strings.ToValidUTF8(text, "\ufffd"), limits, b)
	}
	if err != nil {
		return nil, err
	}
	return b.values[0], nil
}

// builder makes a tree of scanned JSON. Keys and values wait on stacks until the array or object around them ends, so each
// container is allocated once, in its final size.
type builder struct {
	keys      []string
	values    []Value
	maxDigits int
}

// builders holds idle builders.
var builders = sync.Pool{New: func() any { return &builder{keys: make([]string, 0, 16), values: make([]Value, 0, 32)} }}

// maxPooled is the capacity of the largest stack that returns to the pool.
const maxPooled = 1024

// release returns the builder to the pool, without references to what it parsed.
func (b *builder) release() {
	if cap(b.values) <= maxPooled && cap(b.keys) <= maxPooled {
		b.reset()
		builders.Put(b)
	}
}

func (b *builder) reset() {
	clear(b.keys[:cap(b.keys)])
	clear(b.values[:cap(b.values)])
	b.keys, b.values = b.keys[:0], b.values[:0]
}

func (b *builder) push(v Value) { b.values = append(b.values, v) }

// pop removes the last n values. They are valid until the next push.
func (b *builder) pop(n int) []Value {
	at := len(b.values) - n
	top := b.values[at:]
	b.values = b.values[:at]
	return top
}

func (b *builder) Null()          { b.push(nil) }
func (b *builder) Bool(flag bool) { b.push(flag) }
func (b *builder) Text(s string)  { b.push(s) }
func (b *builder) Key(s string)   { b.keys = append(b.keys, s) }
func (b *builder) Array(n int)    { b.push(append(make(List, 0, n), b.pop(n)...)) }

func (b *builder) Number(literal string) error {
	if b.maxDigits > 0 && len(literal) > b.maxDigits && !strings.ContainsAny(literal, ".eE") && len(strings.TrimPrefix(literal, "-")) > b.maxDigits {
		return fmt.Errorf("an int has more than %d digits", b.maxDigits)
	}
	b.push(json.Number(literal))
	return nil
}

// Object keeps the position of the first and the value of the last of duplicate keys.
func (b *builder) Object(n int) {
	values := b.pop(n)
	first := len(b.keys) - n
	o := &Object{members: make([]Member, 0, n)}
	if n > linearMembers {
		o.index = make(map[string]int, n)
	}
	for i, key := range b.keys[first:] {
		o.Set(key, values[i])
	}
	b.keys = b.keys[:first]
	b.push(o)
}
