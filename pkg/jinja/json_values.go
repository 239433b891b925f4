package jinja

// jsonValues makes values of scanned JSON. What is read lies on a stack until the list or dict around it ends: a list is then
// one allocation, a dict two.
type jsonValues struct{ stack []Value }

func (j *jsonValues) push(v Value) { j.stack = append(j.stack, v) }

// top takes the last n values off the stack; they are good until the next push.
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
	turns := j.top(2 * n) // Keys and values in turns.
	d := newDict(n)
	if n > smallDict {
		d.strs = make(map[string]int, n)
	}
	for i := 0; i < len(turns); i += 2 {
		s, _ := asText(turns[i])
		if at := d.findStr(s); at >= 0 {
			d.vals[at] = turns[i+1]
			continue
		}
		d.appendStr(s, turns[i], turns[i+1])
	}
	j.push(d)
}
