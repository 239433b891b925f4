package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSpans(t *testing.T) {
	t.Parallel()
	points := func(list ...string) *bound {
		b := &bound{}
		for _, p := range list {
			b.points = append(b.points, []byte(p))
		}
		return b
	}
	between := func(lo, hi string) *bound {
		b := &bound{lo: []byte(lo)}
		if hi != "" {
			b.hi = []byte(hi)
		}
		return b
	}
	for name, c := range map[string]struct {
		bounds []*bound
		want   [][2]string
	}{
		"no bound: the whole index":       {nil, [][2]string{{"I", "J"}}},
		"a point":                         {[]*bound{points("a")}, [][2]string{{"Ia", "Ib"}}},
		"points multiply":                 {[]*bound{points("a", "c"), points("x", "z")}, [][2]string{{"Iax", "Iay"}, {"Iaz", "Ia{"}, {"Icx", "Icy"}, {"Icz", "Ic{"}}},
		"a range":                         {[]*bound{between("b", "d")}, [][2]string{{"Ib", "Id"}}},
		"a range without an upper end":    {[]*bound{between("b", "")}, [][2]string{{"Ib", "J"}}},
		"a range behind points":           {[]*bound{points("a", "c"), between("1", "5")}, [][2]string{{"Ia1", "Ia5"}, {"Ic1", "Ic5"}}},
		"what follows a range is ignored": {[]*bound{between("b", "d"), points("x")}, [][2]string{{"Ib", "Id"}}},
		"bounds that contradict":          {[]*bound{between("d", "b")}, [][2]string{}},
		"an empty range":                  {[]*bound{between("b", "b")}, [][2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := [][2]string{}
			for _, s := range spans([]byte("I"), c.bounds) {
				got = append(got, [2]string{string(s.lo), string(s.hi)})
				require.True(t, s.contains(s.lo), name)
				require.False(t, s.contains(s.hi), name)
			}
			require.Equal(t, c.want, got, name)
		})
	}
}

func TestASpanWithoutAnEndHoldsAllThatFollows(t *testing.T) {
	t.Parallel()
	all := spans([]byte{0xff}, nil)
	require.Len(t, all, 1)
	require.Nil(t, all[0].hi)
	require.True(t, all[0].contains([]byte{0xff, 0xff}))
	require.False(t, all[0].contains([]byte{0xfe}))
}
