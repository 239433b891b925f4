package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Tests of encoded fields decide as the conditions decide on values, in both directions of an index.
func TestEncodedTestsAgree(t *testing.T) {
	values := []any{
		"", "amber", "Amber-Fox", "a\x00b", "b\x00", "xamber", "\u212aelvin", "été",
		int32(0), int32(7), int64(7), int64(1) << 60, -1.5, 7.0, math.Inf(1), math.NaN(),
		true, false, nil,
		bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")},
		bson.Binary{Data: []byte{0}},
		bson.NewDateTimeFromTime(time.UnixMilli(5)), bson.NewDateTimeFromTime(time.UnixMilli(-5)),
		bson.D{{Key: "a", Value: 1}},
		bson.ObjectID{1},
	}
	texts := []string{"amber", "^amber", "(?i)^AMBER", "(?i)k", "a[\\s\\S]*b", "x$", "7", "é"}
	rapid.Check(t, func(r *rapid.T) {
		pick := func(name string) any { return rapid.SampledFrom(values).Draw(r, name) }
		condition := any(bson.D{{Key: rapid.SampledFrom([]string{"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"}).Draw(r, "operator"), Value: pick("operand")}})
		switch rapid.IntRange(0, 3).Draw(r, "kind") {
		case 0:
			condition = bson.D{{Key: rapid.SampledFrom([]string{"$in", "$nin"}).Draw(r, "list"), Value: bson.A{pick("one"), pick("two"), pick("three")}}}
		case 1:
			condition = bson.Regex{Pattern: rapid.SampledFrom(texts).Draw(r, "text")}
			if rapid.Bool().Draw(r, "not") {
				condition = bson.D{{Key: "$not", Value: condition}}
			}
		}
		raw, err := bson.Marshal(bson.D{{Key: "v", Value: condition}})
		require.NoError(r, err)
		f, err := filter.Compile(value.Doc(raw))
		require.NoError(r, err)
		doc, err := bson.Marshal(bson.D{{Key: "v", Value: pick("value")}})
		require.NoError(r, err)
		v, desc := value.Doc(doc).Get("v"), rapid.Bool().Draw(r, "descending")
		require.Len(r, f.Conjuncts(), 1)
		test := testOf(f.Conjuncts()[0], desc)
		if test == nil {
			return
		}
		if got := test(value.AppendKey(nil, v, desc)); got != unknown {
			want := filter.MatchValues(f.Conjuncts(), func(string) value.Value { return v })
			require.Equal(r, verdictOf(want), got, "%s of %s", bson.Raw(raw), bson.Raw(doc))
		}
	})
}
