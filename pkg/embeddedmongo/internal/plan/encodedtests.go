package plan

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// encodedTest tests an encoded field. It decodes nothing, so a walk over all keys costs little more than the iteration.
type encodedTest func(field []byte) verdict

// testOf returns the test of a condition of one path, or of its negation; nil when only the decoded value decides.
func testOf(n filter.Node, desc bool) encodedTest {
	switch n := n.(type) {
	case filter.Not:
		test := testOf(n.Node, desc)
		if test == nil {
			return nil
		}
		return func(field []byte) verdict {
			switch test(field) {
			case fails:
				return holds
			case holds:
				return fails
			case unknown:
			}
			return unknown
		}
	case *filter.Leaf:
		return testOfLeaf(n, desc)
	}
	return nil
}

func testOfLeaf(l *filter.Leaf, desc bool) encodedTest {
	switch l.Op {
	case filter.Eq:
		return testOfPoints([]value.Value{l.Value}, desc)
	case filter.In:
		if !l.HasRegexps() {
			return testOfPoints(l.List, desc)
		}
	case filter.Gt, filter.Gte, filter.Lt, filter.Lte:
		if b := rangeBound([]predicate{{path: l.Path, leaf: l}}, desc, false); b != nil {
			return func(field []byte) verdict {
				return verdictOf(bytes.Compare(field, b.lo) >= 0 && (b.hi == nil || bytes.Compare(field, b.hi) < 0))
			}
		}
	case filter.Regex:
		if !desc {
			return testOfText(l)
		}
	}
	return nil
}

// testOfPoints returns the test of a list of values; nil when it has null or an array, whose keys stand for other values too.
func testOfPoints(vs []value.Value, desc bool) encodedTest {
	points := make([][]byte, 0, len(vs))
	for _, v := range vs {
		if v.IsNullish() || v.T == bson.TypeArray {
			return nil
		}
		points = append(points, value.AppendKey(nil, v, desc))
	}
	if len(points) == 1 {
		return func(field []byte) verdict { return verdictOf(bytes.Equal(field, points[0])) }
	}
	slices.SortFunc(points, bytes.Compare)
	return func(field []byte) verdict {
		_, found := slices.BinarySearchFunc(points, field, bytes.Compare)
		return verdictOf(found)
	}
}

// testOfText returns the test of a search for a text.
func testOfText(l *filter.Leaf) encodedTest {
	return func(field []byte) verdict {
		switch field[0] {
		case value.ClassString:
			text := field[1 : len(field)-2]
			if bytes.IndexByte(text, 0) >= 0 {
				return unknown // The encoding has escapes.
			}
			return verdictOf(l.TestText(text))
		case value.ClassRegex:
			return unknown
		}
		return fails
	}
}

func verdictOf(ok bool) verdict {
	if ok {
		return holds
	}
	return fails
}
