package value

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anyValue draws values of all types, numbers near the places where their representations differ.
func anyValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		n := 13
		if depth > 0 {
			n = 15
		}
		switch rapid.IntRange(0, n).Draw(t, "kind") {
		case 0:
			return Null
		case 1:
			return OfInt32(rapid.Int32().Draw(t, "int32"))
		case 2:
			return OfInt64(rapid.Int64().Draw(t, "int64"))
		case 3:
			return OfDouble(rapid.Float64().Draw(t, "double"))
		case 4:
			return OfInt64(1<<53 + rapid.Int64Range(-3, 3).Draw(t, "edge"))
		case 5:
			return OfDouble(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1 << 53, 1 << 63, -(1 << 63), math.Inf(1), math.Inf(-1), math.NaN(), 0.1}).Draw(t, "special"))
		case 6:
			d, err := bson.ParseDecimal128(rapid.SampledFrom([]string{"0", "-0", "0.1", "1.0", "1", "-1", "9007199254740993", "9223372036854775807", "1E+6000", "-1E-6000", "1E-6100", "NaN", "Infinity", "-Infinity", "0.1000000000000000055511151231257827"}).Draw(t, "decimal"))
			require.NoError(t, err)
			return Of(d)
		case 7:
			return OfString(rapid.SampledFrom([]string{"", "a", "ab", "a\x00", "a\x00b", "\x00", "b", "ÿ", "é"}).Draw(t, "string"))
		case 8:
			return OfBool(rapid.Bool().Draw(t, "bool"))
		case 9:
			return OfDate(rapid.Int64Range(-5, 5).Draw(t, "date"))
		case 10:
			return Of(bson.Binary{Subtype: byte(rapid.SampledFrom([]int{0, 4}).Draw(t, "subtype")), Data: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")})
		case 11:
			var o bson.ObjectID
			copy(o[:], rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "oid"))
			return Of(o)
		case 12:
			return Of(rapid.SampledFrom([]any{bson.MinKey{}, bson.MaxKey{}, bson.Timestamp{T: 1, I: 2}, bson.Timestamp{T: 1 << 31}, bson.Regex{Pattern: "a", Options: "i"}, bson.JavaScript("x"), bson.Symbol("a")}).Draw(t, "rare"))
		case 13:
			return Value{T: bson.TypeUndefined}
		case 14:
			vs := rapid.SliceOfN(anyValue(depth-1), 0, 3).Draw(t, "array")
			return OfArray(vs)
		}
		b := NewBuilder()
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			b.Add(rapid.SampledFrom([]string{"a", "b", "ab", ""}).Draw(t, "name"), anyValue(depth-1).Draw(t, "value"))
		}
		return OfDoc(b.Done())
	})
}

func sign(i int) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

func TestKeyOrderIsCompareOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyValue(2).Draw(t, "a"), anyValue(2).Draw(t, "b")
		want := sign(Compare(a, b))
		require.Equal(t, want, sign(bytes.Compare(AppendKey(nil, a, false), AppendKey(nil, b, false))), "%s %s", Format(a), Format(b))
		require.Equal(t, -want, sign(bytes.Compare(AppendKey(nil, a, true), AppendKey(nil, b, true))))
		require.Equal(t, -want, sign(Compare(b, a)))
	})
}

func TestKeyLengthEndsTheKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyValue(2).Draw(t, "a"), anyValue(2).Draw(t, "b")
		desc := rapid.Bool().Draw(t, "desc")
		k := AppendKey(nil, a, desc)
		require.Equal(t, len(k), KeyLen(AppendKey(bytes.Clone(k), b, !desc), desc), Format(a))
	})
}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	dec := func(s string) Value {
		d, err := bson.ParseDecimal128(s)
		require.NoError(t, err)
		return Of(d)
	}
	// Ascending, no two equal.
	list := []Value{
		OfDouble(math.NaN()), OfDouble(math.Inf(-1)), dec("-1E+6000"), OfInt64(math.MinInt64), OfDouble(-1), dec("-1E-6000"), OfInt32(0),
		dec("1E-6000"), dec("0.1"), OfDouble(0.1), OfInt32(1), OfInt64(1 << 53), OfInt64(1<<53 + 1), OfDouble(1<<53 + 2),
		OfInt64(math.MaxInt64), OfDouble(1 << 63), dec("1E+6000"), OfDouble(math.Inf(1)),
	}
	for i := range list {
		for j := range list {
			require.Equal(t, sign(i-j), Compare(list[i], list[j]), "%s %s", Format(list[i]), Format(list[j]))
		}
	}
	require.Zero(t, Compare(OfDouble(math.Copysign(0, -1)), OfInt32(0)))
	require.Zero(t, Compare(dec("1.00"), OfInt64(1)))
}

func TestArithmeticWidensAndReportsOverflow(t *testing.T) {
	t.Parallel()
	v, ok := Add(OfInt32(math.MaxInt32), OfInt32(1))
	require.True(t, ok)
	require.Equal(t, OfInt64(math.MaxInt32+1), v)
	_, ok = Add(OfInt64(math.MaxInt64), OfInt32(1))
	require.False(t, ok)
	_, ok = Add(OfInt64(math.MinInt64), OfInt32(-1))
	require.False(t, ok)
	v, ok = Mul(OfInt64(math.MinInt64), OfInt32(1))
	require.True(t, ok)
	require.Equal(t, OfInt64(math.MinInt64), v)
	_, ok = Mul(OfInt64(math.MinInt64), OfInt32(-1))
	require.False(t, ok)
	v, ok = Sub(OfInt32(1), OfDouble(0.5))
	require.True(t, ok)
	require.Equal(t, OfDouble(0.5), v)
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(DocOf(bson.D{{Key: "a", Value: bson.A{1, "x", bson.D{{Key: "b", Value: 1.5}}}}})))
	f.Add([]byte{5, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b) != nil {
			return
		}
		// A valid document can be walked, encoded and compared without a panic.
		k := AppendKey(nil, OfDoc(b), false)
		require.Equal(t, len(k), KeyLen(k, false))
		require.Zero(t, CompareDocs(b, b))
	})
}

func FuzzKeyOrder(f *testing.F) {
	f.Add([]byte(DocOf(bson.D{{Key: "a", Value: 1}})), []byte(DocOf(bson.D{{Key: "a", Value: 1.5}})))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if Validate(a) != nil || Validate(b) != nil {
			return
		}
		require.Equal(t, sign(CompareDocs(a, b)), sign(bytes.Compare(AppendKey(nil, OfDoc(a), false), AppendKey(nil, OfDoc(b), false))))
	})
}

// A value that is decoded from a key equals the encoded one, and takes as many bytes.
func TestReadKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		desc := rapid.Bool().Draw(t, "desc")
		v := anyValue(1).Draw(t, "value")
		key := AppendKey(nil, v, desc)
		got, n, ok := ReadKey(append(bytes.Clone(key), "behind"...), desc, []byte("used before"))
		require.Len(t, key, n)
		if ok {
			require.Zero(t, Compare(v, got), "%s, %s", Format(v), Format(got))
		}
		switch v.T {
		case bson.TypeString, bson.TypeInt32, bson.TypeDouble, bson.TypeBinary, bson.TypeNull:
			require.True(t, ok, Format(v))
		}
	})
}
