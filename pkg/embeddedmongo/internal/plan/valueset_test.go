package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// TestValueSetsAreSets compares a set with a map of its values: ids, the id of zeros, and values of other types.
func TestValueSetsAreSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set, counted := newValueSet(), newValueSet()
		counted.counts = make([]uint32, len(counted.table))
		want := map[string]int64{}
		key := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 300).Draw(t, "n")
			id := append([]byte{idBytes, 0, 0, 0, byte(4 + n%7/6)}, make([]byte, idBytes)...)
			id[len(id)-1], id[len(id)-9] = byte(n), byte(n>>8)
			v := value.Value{T: bson.TypeBinary, B: id}
			switch n % 20 {
			case 0:
				v = value.Null
			case 1:
				v = value.OfString(string(id[5:]))
			}
			return string(value.AppendKey(nil, v, false))
		})
		for _, k := range rapid.SliceOfN(key, 0, 400).Draw(t, "keys") {
			set.add([]byte(k))
			counted.count([]byte(k))
			want[k]++
		}
		require.Equal(t, len(want), set.len())
		listed := 0
		set.each(func(k []byte) {
			require.Contains(t, want, string(k))
			listed++
		})
		require.Equal(t, len(want), listed)
		for _, k := range rapid.SliceOfN(key, 50, 50).Draw(t, "others") {
			n, present := want[k]
			require.Equal(t, present, set.has([]byte(k)))
			require.Equal(t, n, counted.take([]byte(k)))
			require.Zero(t, counted.take([]byte(k)))
			if present {
				want[k] = 0
			}
		}
		for k, n := range want {
			require.Equal(t, n, counted.take([]byte(k)))
			require.True(t, set.has([]byte(k)))
		}
	})
}
