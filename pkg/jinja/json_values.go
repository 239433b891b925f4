package jinja

import "sync"

// jsonValues builds template values from scanned JSON. Values wait on a stack until the list or dict around them ends, so a
// list is one allocation and a dict two. Building them through a tree of pkg/jsontree takes 50 % more instructions.
type jsonValues struct{ stack []Value }

var idleJSONValues = sync.Pool{New: func() any { return &jsonValues{stack: make([]Value, 0, 64)} }}

// release lets others use the stack, without references to what it held. A large stack is not kept.
func (j *jsonValues) release() {
	const maxStack = 512
	if cap(j.stack) <= maxStack {
		clear(j.stack[:cap(j.stack)])
		j.stack = j.stack[:0]
		idleJSONValues.Put(j)
	}
}

func (j *jsonValues) push(v Value) { j.stack = append(j.stack, v) }

// top removes the last n values from the stack. They are valid until the next push.
func (j *jsonValues) top(n int) []Value {
	at := len(j.stack) - n
	top := j.stack[at:]
	j.stack = j.stack[:at]
	return top
}

func (j *jsonValues) Null()         { j.push(None) }
func (j *jsonValues) Bool(b bool)   { j.push(Bool(b)) }
func (j *jsonValues) Text(s string) { j.push(strValue(s)) }
func (j *jsonValues) Key(s string)  { j.push(strValue(s)) }

func (j *jsonValues) Number(literal string) error {
	n, err := jsonNumber(literal)
	j.push(n)
	return err
}

func (j *jsonValues) Array(n int) {
	var items []Value
	if n > 0 {
		items = append(make([]Value, 0, n), j.top(n)...)
	}
	j.push(&listValue{items})
}

func (j *jsonValues) Object(n int) {
	pairs := j.top(2 * n) // Alternating keys and values.
	d := newDict(n)
	if n > smallDict {
		d.strs = make(map[string]int, n)
	}
	for i := 0; i < len(pairs); i += 2 {
		s, _ := asText(pairs[i])
		if at := d.findStr(s); at >= 0 {
			d.vals[at] = pairs[i+1]
			continue
		}
		d.appendStr(s, pairs[i], pairs[i+1])
	}
	j.push(d)
}
