package index

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doc reads extended JSON.
func doc(t *testing.T, s string) value.Doc {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(s), false, &d), s)
	return value.DocOf(d)
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc      string
		paths    []string
		keys     int
		multikey uint32
		allNull  bool
		parallel string
	}{
		{doc: `{"a": 1}`, paths: []string{"a"}, keys: 1},
		{doc: `{"b": 1}`, paths: []string{"a"}, keys: 1, allNull: true},
		{doc: `{"a": null}`, paths: []string{"a"}, keys: 1},
		{doc: `{"a": [1, 2, 1]}`, paths: []string{"a"}, keys: 2, multikey: 1},
		{doc: `{"a": []}`, paths: []string{"a"}, keys: 1, multikey: 1},
		{doc: `{"a": [[1, 2], 3]}`, paths: []string{"a"}, keys: 2, multikey: 1},
		{doc: `{"a": {"b": 1}}`, paths: []string{"a.b"}, keys: 1},
		{doc: `{"a": [{"b": 1}, {"b": 2}]}`, paths: []string{"a.b"}, keys: 2, multikey: 1},
		{doc: `{"a": [7, 8]}`, paths: []string{"a.1"}, keys: 1},
		{doc: `{"x": 1, "a": [1, 2]}`, paths: []string{"x", "a"}, keys: 2, multikey: 2},
		{doc: `{"a": [{"b": 1, "c": 2}, {"b": 3, "c": 4}]}`, paths: []string{"a.b", "a.c"}, keys: 2, multikey: 3},
		{doc: `{"a": [1], "b": [2]}`, paths: []string{"a", "b"}, parallel: "a and b"},
	} {
		t.Run(c.doc, func(t *testing.T) {
			var fields []Field
			for _, path := range c.paths {
				fields = append(fields, NewField(path, false))
			}
			d := doc(t, c.doc)
			got := Entries(d, fields)
			var memory Memory
			memory.Parse(nil, doc(t, `{"a": 9, "b": [9]}`))
			for range 2 { // The second pass reads the elements that the first one parsed, beside the elements of another version.
				derived := EntriesIn(&memory, d, fields)
				require.Equal(t, got.Keys, derived.Keys, c.doc)
				require.Equal(t, got.Multikey, derived.Multikey, c.doc)
				memory.Reset()
				memory.Parse(doc(t, `{"a": 9, "b": [9]}`), d)
			}
			require.Len(t, got.Keys, c.keys, c.doc)
			require.Equal(t, c.parallel, got.Parallel, c.doc)
			if c.parallel == "" {
				require.Equal(t, c.multikey, got.Multikey, c.doc)
				require.Equal(t, c.allNull, got.AllNull, c.doc)
			}
			for i := 1; i < len(got.Keys); i++ {
				require.Negative(t, bytes.Compare(got.Keys[i-1], got.Keys[i]), c.doc)
			}
		})
	}
}

func TestSortKeysOrderDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sort string
		docs []string // In order.
	}{
		{`{"a": 1}`, []string{`{"a": []}`, `{}`, `{"a": -1}`, `{"a": [5, 0]}`, `{"a": 2}`, `{"a": "x"}`}},
		{`{"a": -1}`, []string{`{"a": "x"}`, `{"a": [5, 0]}`, `{"a": 2}`, `{"a": -1}`, `{}`, `{"a": []}`}},
		{`{"a": 1, "b": -1}`, []string{`{"a": 1, "b": 2}`, `{"a": 1, "b": 1}`, `{"a": 2, "b": 9}`}},
		{`{"a": 1, "b": 1}`, []string{`{"a": [1, 9], "b": 2}`, `{"a": 1, "b": 4}`, `{"a": 2, "b": [0]}`}},
		{`{"a.0": 1}`, []string{`{"a": [[], 1]}`, `{"a": 1}`, `{"a": [2, 0]}`, `{"a": [[0]]}`}},
		{`{"_id": 1}`, []string{`{"_id": null}`, `{"_id": []}`, `{"_id": ["p"]}`, `{"_id": ["p", "a"]}`, `{"_id": ["r"]}`}},
		{`{"_id": -1}`, []string{`{"_id": ["r"]}`, `{"_id": ["p"]}`, `{}`}},
	} {
		t.Run(c.sort, func(t *testing.T) {
			s, err := CompileSort(doc(t, c.sort))
			require.NoError(t, err)
			for i := 1; i < len(c.docs); i++ {
				before, err := s.Key(doc(t, c.docs[i-1]))
				require.NoError(t, err)
				after, err := s.Key(doc(t, c.docs[i]))
				require.NoError(t, err)
				require.Negative(t, bytes.Compare(before, after), "%s: %s before %s", c.sort, c.docs[i-1], c.docs[i])
			}
		})
	}
}

func TestSortsOfParallelArraysAreRefused(t *testing.T) {
	t.Parallel()
	for sort, d := range map[string]string{
		`{"a": 1, "b": 1}`:           `{"a": [1], "b": [2]}`,
		`{"a": 1, "b": 1, "_id": 1}`: `{"a": [], "b": []}`,
		`{"a.0": 1, "b": 1}`:         `{"a": [1], "b": [2]}`,
		`{"a.x": 1, "a.y": 1}`:       `{"a": {"x": [1], "y": [2]}}`,
	} {
		s, err := CompileSort(doc(t, sort))
		require.NoError(t, err)
		_, err = s.Key(doc(t, d))
		require.True(t, mongoerr.Is(err, mongoerr.BadValue), "%s: %v", sort, err)
	}
}

func TestKeyValuesAreThoseOfTheKey(t *testing.T) {
	t.Parallel()
	d := doc(t, `{"a": [{"b": 1, "c": []}, {"b": 2}], "x": "y"}`)
	fields := []Field{NewField("a.b", true), NewField("x", false)}
	keys := Entries(d, fields).Keys
	require.Len(t, keys, 2)
	for i, want := range []int32{2, 1} {
		got := KeyValues(d, fields, keys[i])
		require.Equal(t, []value.Value{value.OfInt32(want), value.OfString("y")}, got)
	}
	require.Nil(t, KeyValues(d, fields, []byte("another")))
}

func TestSortsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`{"a": 2}`, `{"a": 0}`, `{"a": "asc"}`, `{"": 1}`, `{"$a": 1}`, `{"a": {"$meta": "textScore"}}`} {
		_, err := CompileSort(doc(t, s))
		require.Error(t, err, s)
	}
}
