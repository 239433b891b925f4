package jsonvalue

import (
	"fmt"
	"strings"
	"sync"

	"github.com/orch-project/orch/pkg/jsontext"
)

// errDigits means that an int is too long.
var errDigits = fmt.Errorf("an int has more than %d digits", maxDigits)

// MaxDepth bounds the nesting of what Parse takes. It is a little less than the decoder of the API takes, so that a
// value may be put into an event.
const MaxDepth = 120

// Parse reads one JSON value with nothing but white space around it. The error is a *jsontext.SyntaxError
// where one place is to blame.
func Parse(text string) (Value, error) {
	values := builders.Get().(*builder)
	defer values.release()
	if err := jsontext.Scan(strings.ToValidUTF8(text, "\ufffd"), MaxDepth, values); err != nil {
		return Value{}, err
	}
	return values.stack[0], nil
}

// builders are those that nobody uses, of *builder.
var builders = sync.Pool{New: func() any { return &builder{stack: make([]Value, 0, 32)} }}

// maxKept is how large a stack may be that is kept, in values.
const maxKept = 1024

// release lets others use the builder. What it read is not kept alive by it.
func (b *builder) release() {
	if cap(b.stack) > maxKept {
		return
	}
	clear(b.stack[:cap(b.stack)])
	b.stack = b.stack[:0]
	builders.Put(b)
}

// builder makes values of scanned JSON. What is read lies on a stack until the array or object around it ends.
type builder struct{ stack []Value }

func (b *builder) push(v Value) { b.stack = append(b.stack, v) }

// top takes the last n values off the stack; they are good until the next push.
func (b *builder) top(n int) []Value {
	at := len(b.stack) - n
	top := b.stack[at:]
	b.stack = b.stack[:at]
	return top
}

func (b *builder) Null()          { b.push(Value{}) }
func (b *builder) Bool(flag bool) { b.push(Flag(flag)) }
func (b *builder) Text(s string)  { b.push(Text(s)) }
func (b *builder) Key(s string)   { b.push(Text(s)) }
func (b *builder) List(n int)     { b.push(List(append(make([]Value, 0, n), b.top(n)...)...)) }

// maxDigits bounds an int: clients in Python refuse to read a larger one, and with it the whole answer that it is in.
const maxDigits = 4300

func (b *builder) Number(literal string) error {
	if len(literal) > maxDigits && !strings.ContainsAny(literal, ".eE") && len(strings.TrimPrefix(literal, "-")) > maxDigits {
		return errDigits
	}
	b.push(Value{kind: Number, text: literal})
	return nil
}

// fewMembers is the number of keys up to which a search is as good as a map.
const fewMembers = 16

// Object keeps of equal keys the place of the first and the value of the last.
func (b *builder) Object(n int) {
	turns := b.top(2 * n) // Keys and values in turns.
	members := make([]Member, 0, n)
	var places map[string]int
	if n > fewMembers {
		places = make(map[string]int, n)
	}
	for i := 0; i < len(turns); i += 2 {
		m := Member{turns[i].text, turns[i+1]}
		if at := find(members, places, m.Key); at >= 0 {
			members[at].Value = m.Value
			continue
		}
		if places != nil {
			places[m.Key] = len(members)
		}
		members = append(members, m)
	}
	b.push(Map(members...))
}

// find is the place of a key, -1 when there is none. Places has all of them, unless it is nil.
func find(members []Member, places map[string]int, key string) int {
	if places != nil {
		if at, ok := places[key]; ok {
			return at
		}
		return -1
	}
	for i := range members {
		if members[i].Key == key {
			return i
		}
	}
	return -1
}
