package jsontree_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTextIsWhatWasRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `false`, `"x"`, `1`, `1.0`, `1e400`, `12345678901234567890.10`, `[]`, `{}`,
		`{"b":1,"a":{"$ref":[null,{"":"\"\\ 🙂 <>&"}]},"":2}`,
	} {
		v, err := jsontree.Parse(text)
		require.NoError(t, err)
		require.Equal(t, text, string(jsontree.Text(v)))
		require.True(t, jsontree.Equal(v, v))
	}
	for _, text := range []string{``, `{`, `[1,`, `{"a"}`, `1 2`, `nul`} {
		_, err := jsontree.Parse(text)
		require.Error(t, err, text)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	o, err := jsontree.ParseObject([]byte(`{"a":1,"b":{"c":"d"},"a":2}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":2,"b":{"c":"d"}}`, string(jsontree.Text(o)))
	require.Equal(t, "d", o.Object("b").Text("c"))
	require.Empty(t, o.Object("a").Text("c"), "a nil object has no members")
	other := o.Clone()
	other.Delete("a")
	other.Delete("z")
	other.Set("a", json.Number("2"))
	require.Equal(t, `{"b":{"c":"d"},"a":2}`, string(jsontree.Text(other)))
	require.Equal(t, `{"a":2,"b":{"c":"d"}}`, string(jsontree.Text(o)))
	require.True(t, jsontree.Equal(o, other))
	other.Set("a", json.Number("2.0"))
	require.False(t, jsontree.Equal(o, other))
	require.False(t, jsontree.Equal("x", o))
	require.False(t, jsontree.Equal(jsontree.List{}, o))

	empty, err := jsontree.ParseObject(nil)
	require.NoError(t, err)
	require.Zero(t, empty.Len())
	_, err = jsontree.ParseObject([]byte(`[]`))
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x",null,{"b":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsontree.Parse(string(text))
		if err != nil {
			return
		}
		once := jsontree.Text(v)
		again, err := jsontree.Parse(string(once))
		require.NoError(t, err)
		require.True(t, bytes.Equal(once, jsontree.Text(again)))
	})
}
