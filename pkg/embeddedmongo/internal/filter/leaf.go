package filter

import (
	"math"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Op is what a Leaf tests.
type Op int

// The tests of leaves.
const (
	Eq Op = iota
	Gt
	Gte
	Lt
	Lte
	In
	Exists
	TypeOf
	Size
	Mod
	Regex
	ElemMatchDoc   // An element is a document that satisfies Sub.
	ElemMatchValue // An element satisfies Sub, which tests the value "" of a wrapper document.
)

// Leaf tests the values at one path.
type Leaf struct {
	Path  string
	Op    Op
	Value value.Value   // Eq, Gt, Gte, Lt, Lte.
	List  []value.Value // In: sorted, no regular expressions.
	Sub   Node          // ElemMatchDoc, ElemMatchValue.

	parts   []string
	re      []*pattern    // Regex, and In with regular expressions.
	source  []value.Value // The regular expressions' own values, which equal themselves.
	types   map[value.Type]bool
	n, div  int64
	hasNull bool
}

// HasRegexps reports whether a Regex or In leaf has regular expressions.
func (l *Leaf) HasRegexps() bool { return len(l.re) > 0 }

// Types are the types that a TypeOf leaf accepts.
func (l *Leaf) Types() map[value.Type]bool { return l.types }

// HasNull reports whether an In leaf's list holds null, which missing values match.
func (l *Leaf) HasNull() bool { return l.hasNull }

func (l *Leaf) match(d value.Doc, st *state) bool { return l.inDoc(d, 0, st) }

func (l *Leaf) inDoc(d value.Doc, i int, st *state) bool {
	v := d.Get(l.parts[i])
	if i == len(l.parts)-1 {
		if st.element {
			return l.atPosition(v, st)
		}
		return l.atEnd(v, st)
	}
	switch v.T {
	case bson.TypeEmbeddedDocument:
		return l.inDoc(v.Doc(), i+1, st)
	case bson.TypeArray:
		return l.inArray(v.Doc(), i+1, st)
	}
	return l.test(value.Value{}, st)
}

// inArray follows the rest of the path in an array: at a position, and in every element that is a document.
func (l *Leaf) inArray(arr value.Doc, i int, st *state) bool {
	if n, ok := value.ParseIndex(l.parts[i]); ok {
		if e := arr.At(n); !e.IsMissing() {
			switch {
			case i == len(l.parts)-1:
				// The element is tested as a whole: MongoDB does not traverse a nested array here.
				if l.atPosition(e, st) {
					return true
				}
			case e.T == bson.TypeEmbeddedDocument:
				if l.inDoc(e.Doc(), i+1, st) {
					return true
				}
			case e.T == bson.TypeArray:
				if l.inArray(e.Doc(), i+1, st) {
					return true
				}
			}
		}
	}
	it := arr.Iter()
	for n := 0; ; n++ {
		_, e, ok := it.Next()
		if !ok {
			return false
		}
		if e.T == bson.TypeEmbeddedDocument && l.inDoc(e.Doc(), i, st) {
			st.pos = n
			return true
		}
	}
}

func (l *Leaf) atPosition(e value.Value, st *state) bool {
	if e.T == bson.TypeArray && (l.Op == ElemMatchDoc || l.Op == ElemMatchValue) {
		return l.elemMatch(e, st)
	}
	return l.test(e, st)
}

// atEnd tests the value at the path's end and, for an array, its elements.
func (l *Leaf) atEnd(v value.Value, st *state) bool {
	if v.T == bson.TypeArray {
		switch l.Op {
		case Exists, Size:
		case ElemMatchDoc, ElemMatchValue:
			return l.elemMatch(v, st)
		default:
			it := v.Doc().Iter()
			for n := 0; ; n++ {
				_, e, ok := it.Next()
				if !ok {
					break
				}
				if l.test(e, st) {
					st.pos = n
					return true
				}
			}
		}
	}
	return l.test(v, st)
}

func (l *Leaf) elemMatch(v value.Value, st *state) bool {
	it := v.Doc().Iter()
	for n := 0; ; n++ {
		_, e, ok := it.Next()
		if !ok {
			return false
		}
		inner := state{element: l.Op == ElemMatchValue}
		var hit bool
		switch {
		case l.Op == ElemMatchValue:
			hit = l.Sub.match(value.NewBuilder().Add("", e).Done(), &inner)
		case e.T == bson.TypeEmbeddedDocument || e.T == bson.TypeArray:
			hit = l.Sub.match(e.Doc(), &inner)
		}
		if hit {
			st.pos = n
			return true
		}
	}
}

func (l *Leaf) test(v value.Value, _ *state) bool {
	switch l.Op {
	case Eq:
		if l.Value.T == bson.TypeNull {
			return v.IsNullish()
		}
		return !v.IsMissing() && value.Equal(v, l.Value)
	case Gt, Gte, Lt, Lte:
		return l.compare(v)
	case In:
		return l.in(v)
	case Exists:
		return !v.IsMissing()
	case TypeOf:
		return l.types[v.T]
	case Size:
		return v.T == bson.TypeArray && int64(v.Doc().Len()) == l.n
	case Mod:
		return l.mod(v)
	case Regex:
		return l.regex(v)
	}
	return false
}

// compare is range comparison: only values of the operand's class are comparable, except with MinKey and MaxKey.
func (l *Leaf) compare(v value.Value) bool {
	class := value.Class(l.Value.T)
	switch class {
	case value.ClassNull:
		return v.IsNullish() && (l.Op == Gte || l.Op == Lte)
	case value.ClassMinKey, value.ClassMaxKey:
		if v.IsMissing() {
			v = value.Null
		}
	default:
		if v.IsMissing() || value.Class(v.T) != class {
			return false
		}
		if class == value.ClassNumber {
			a, b := math.IsNaN(v.Float()), math.IsNaN(l.Value.Float())
			if a || b {
				return a && b && (l.Op == Gte || l.Op == Lte)
			}
		}
	}
	c := value.Compare(v, l.Value)
	switch l.Op {
	case Gt:
		return c > 0
	case Gte:
		return c >= 0
	case Lt:
		return c < 0
	}
	return c <= 0
}

func (l *Leaf) in(v value.Value) bool {
	if v.IsNullish() {
		return l.hasNull
	}
	i := sort.Search(len(l.List), func(i int) bool { return value.Compare(l.List[i], v) >= 0 })
	if i < len(l.List) && value.Equal(l.List[i], v) {
		return true
	}
	return len(l.re) > 0 && l.regex(v)
}

func (l *Leaf) mod(v value.Value) bool {
	if !v.IsNumber() {
		return false
	}
	f := math.Trunc(v.Float())
	i, ok := value.OfDouble(f).Int()
	if v.T == bson.TypeInt64 {
		i, ok = v.Int()
	}
	if l.div == -1 {
		return ok && l.n == 0
	}
	return ok && i%l.div == l.n
}

func (l *Leaf) regex(v value.Value) bool {
	switch v.T {
	case bson.TypeString, bson.TypeSymbol:
		return l.TestText(v.B[4 : len(v.B)-1])
	case bson.TypeRegex:
		for _, s := range l.source {
			if value.Equal(s, v) {
				return true
			}
		}
	}
	return false
}

// Parts is the path, split at its dots. The caller must not modify it.
func (l *Leaf) Parts() []string { return l.parts }

// Test reports whether a single value passes the leaf, without traversing arrays.
func (l *Leaf) Test(v value.Value) bool { return l.test(v, nil) }

// TestText reports whether a text matches a regular expression of the leaf.
func (l *Leaf) TestText(text []byte) bool {
	for _, re := range l.re {
		if re.match(text) {
			return true
		}
	}
	return false
}
