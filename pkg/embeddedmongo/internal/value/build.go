package value

import (
	"encoding/binary"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Builder writes one document, element by element, nested ones included.
type Builder struct {
	b     []byte
	stack []int
}

// NewBuilder starts a document.
func NewBuilder() *Builder { return NewBuilderOf(256) }

// NewBuilderOf starts a document of about that size.
func NewBuilderOf(size int) *Builder { return &Builder{b: make([]byte, 4, max(size, 5))} }

// BuildIn starts a document in the memory of b, whose content is lost.
func BuildIn(b []byte) *Builder { return &Builder{b: append(b[:0], 0, 0, 0, 0)} }

// BuildOnto starts a document at the end of b; Bytes returns b with the document appended.
func BuildOnto(b []byte) *Builder {
	bd := &Builder{b: append(b, 0, 0, 0, 0)}
	bd.stack = append(bd.stack, len(b))
	return bd
}

// Add appends an element; a missing value adds nothing.
func (w *Builder) Add(key string, v Value) *Builder {
	if v.T == Missing {
		return w
	}
	w.b = append(w.b, byte(v.T))
	w.b = append(w.b, key...)
	w.b = append(w.b, 0)
	w.b = append(w.b, v.B...)
	return w
}

// AddKey is Add with the key as bytes.
func (w *Builder) AddKey(key []byte, v Value) {
	if v.T == Missing {
		return
	}
	w.b = append(w.b, byte(v.T))
	w.b = append(w.b, key...)
	w.b = append(w.b, 0)
	w.b = append(w.b, v.B...)
}

// Int32 appends an int32 element.
func (w *Builder) Int32(key string, i int32) *Builder {
	w.head(bson.TypeInt32, key)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(i))
	return w
}

// Open starts a nested document or array; Close ends it.
func (w *Builder) Open(key string, t Type) *Builder {
	w.head(t, key)
	w.stack = append(w.stack, len(w.b))
	w.b = append(w.b, 0, 0, 0, 0)
	return w
}

// OpenKey is Open with the key as bytes.
func (w *Builder) OpenKey(key []byte, t Type) {
	w.b = append(append(append(w.b, byte(t)), key...), 0)
	w.stack = append(w.stack, len(w.b))
	w.b = append(w.b, 0, 0, 0, 0)
}

// Grow makes room for that many bytes.
func (w *Builder) Grow(n int) { w.b = slices.Grow(w.b, n) }

// Close ends the innermost open document or array.
func (w *Builder) Close() *Builder {
	at := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.b = append(w.b, 0)
	binary.LittleEndian.PutUint32(w.b[at:], uint32(len(w.b)-at))
	return w
}

func (w *Builder) head(t Type, key string) {
	w.b = append(w.b, byte(t))
	w.b = append(w.b, key...)
	w.b = append(w.b, 0)
}

// Len is the number of bytes written so far.
func (w *Builder) Len() int { return len(w.b) }

// Done ends the document and returns it. The builder must not be used afterwards.
func (w *Builder) Done() Doc {
	w.b = append(w.b, 0)
	binary.LittleEndian.PutUint32(w.b, uint32(len(w.b)))
	return w.b
}

// Bytes ends a document begun by BuildOnto and returns everything.
func (w *Builder) Bytes() []byte {
	for len(w.stack) > 0 {
		w.Close()
	}
	return w.b
}

var indexes = func() (s [256]string) {
	for i := range s {
		s[i] = strconv.Itoa(i)
	}
	return s
}()

// Index is the element name of an array position.
func Index(i int) string {
	if i < len(indexes) {
		return indexes[i]
	}
	return strconv.Itoa(i)
}

// ParseIndex reads an array position: decimal digits without a leading zero.
func ParseIndex(s string) (int, bool) {
	if s == "" || len(s) > 9 || (len(s) > 1 && s[0] == '0') {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
