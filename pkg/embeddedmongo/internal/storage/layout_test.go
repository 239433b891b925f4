package storage

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEntryKeysComeApartAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "fields")
		id := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "id")
		header := taggedIndex('x', rapid.Uint32().Draw(t, "collection"), rapid.Uint16().Draw(t, "index"))
		key := entryKey(header, fields, id)
		require.Equal(t, id, append([]byte{}, EntryID(key)...))
		require.Equal(t, fields, append([]byte{}, EntryFields(key)...))
		require.True(t, bytes.HasPrefix(key, header))
	})
}

func TestSuccessor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte{1, 2}, []byte{1, 3}},
		{[]byte{1, 0xff}, []byte{2}},
		{[]byte{0xff, 0xff}, nil},
		{nil, nil},
	} {
		t.Run(fmt.Sprint(c.prefix), func(t *testing.T) {
			require.Equal(t, c.want, Successor(c.prefix))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "prefix")
		rest := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "rest")
		if next := Successor(prefix); next != nil {
			require.Negative(t, bytes.Compare(append(bytes.Clone(prefix), rest...), next))
			require.False(t, bytes.HasPrefix(next, prefix))
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, ok := range [][2]string{{"orch", "flow"}, {"orch", "a.b"}, {"d", "system.x"}} {
		require.NoError(t, checkNames(ok[0], ok[1]), ok)
	}
	for _, bad := range [][2]string{
		{"", "c"},
		{"d", ""},
		{"a.b", "c"},
		{"a b", "c"},
		{"a$", "c"},
		{"d", "$c"},
		{"d", ".c"},
		{"d", "c."},
		{"d", "a\x00b"},
		{string(bytes.Repeat([]byte("d"), 64)), "c"},
		{"d", string(bytes.Repeat([]byte("c"), 255))},
	} {
		require.Error(t, checkNames(bad[0], bad[1]), bad)
	}
}

func TestCountersAddUp(t *testing.T) {
	t.Parallel()
	var sum counterSum
	for _, n := range []int64{5, -7, 1 << 40} {
		v, _, err := (&counterSum{n}).Finish(true)
		require.NoError(t, err)
		require.NoError(t, sum.MergeNewer(v))
	}
	require.Equal(t, int64(1<<40-2), sum.n)
	require.Error(t, sum.MergeOlder(nil))
}

// Keys may share a stripe; locking them all must neither deadlock nor let two holders in.
func TestLockAllExcludes(t *testing.T) {
	t.Parallel()
	var s stripes
	s.init(2)
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("a")}
	hashes := func() (list []uint64) {
		for _, k := range keys {
			list = append(list, s.hash(k))
		}
		return list
	}
	var wg sync.WaitGroup
	held := 0
	for range 8 {
		wg.Go(func() {
			for range 100 {
				locked := s.lockAll(hashes())
				held++
				s.unlockAll(locked)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 800, held)
	require.Empty(t, s.lockAll(nil))
}
