package jsontree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"null":                           "null",
		" \t\r\n true \n":                "true",
		"[]":                             "[]",
		"{ }":                            "{}",
		"-0":                             "-0",
		"1.50e+10":                       "1.50e+10",
		"123456789012345678901234.5E9":   "123456789012345678901234.5E9",
		`{"b":1,"a":[false,{"c":null}]}`: `{"b":1,"a":[false,{"c":null}]}`,
		`{"a":1,"b":2,"a":3}`:            `{"a":3,"b":2}`,
		`"\"\\\/\b\f\n\r\t\u0041"`:       `"\"\\/\u0008\u000c\n\r\tA"`,
		`"\ud83d\ude00"`:                 `"😀"`,
		`"\ud83d"`:                       "\"\ufffd\"",
		`"\ude00\ud83d x"`:               "\"\ufffd\ufffd x\"",
		`"\ud83d\u0041"`:                 "\"\ufffdA\"",
		`"\u0000"`:                       `"\u0000"`,
		"\"\xff\"":                       "\"\ufffd\"",
	} {
		v, err := jsontree.EventLimits().Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, string(jsontree.Text(v)), text)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "line 1, column 1: the text ends where a value is expected",
		"nul":                 "line 1, column 1: a value is expected",
		"NaN":                 "line 1, column 1: a value is expected",
		"-Infinity":           "line 1, column 2: a digit is expected",
		"01":                  "line 1, column 2: unexpected text after the value",
		"1.":                  "line 1, column 3: a digit is expected",
		"1e":                  "line 1, column 3: a digit is expected",
		"+1":                  "line 1, column 1: a value is expected",
		"[1,]":                "line 1, column 4: a value is expected",
		"[1 2]":               "line 1, column 4: a comma or a closing bracket is expected",
		"[1":                  "line 1, column 3: a comma or a closing bracket is expected",
		`{"a":1,}`:            "line 1, column 8: a key in double quotes is expected",
		`{"a" 1}`:             "line 1, column 6: a colon is expected after the key",
		`{"a":1 "b":2}`:       "line 1, column 8: a comma or a closing brace is expected",
		"{'a': 1}":            "line 1, column 2: a key in double quotes is expected",
		"\"a\nb\"":            "line 1, column 3: a control character stands in a string",
		`"a`:                  "line 1, column 1: a string does not end",
		`"\x"`:                "line 1, column 2: a backslash is not followed by an escape",
		`"\u12g4"`:            `line 1, column 2: \u is not followed by four hexadecimal digits`,
		`"\u+123"`:            `line 1, column 2: \u is not followed by four hexadecimal digits`,
		"{\"é\":\n  \"é\" x}": "line 2, column 7: a comma or a closing brace is expected",
		"1 2":                 "line 1, column 3: unexpected text after the value",
		"// x\n1":             "line 1, column 1: a value is expected",
		"\ufeff1":             "line 1, column 1: a value is expected",
		"\u00a01":             "line 1, column 1: a value is expected",
	} {
		_, err := jsontree.EventLimits().Parse(text)
		require.EqualError(t, err, want, text)
	}
}

// A Python client could not read a page of events with a longer integer.
func TestIntegerDigitsLimit(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("7", 4300)
	for _, text := range []string{digits, "-" + digits, digits + "7.5", digits + "7e1"} {
		v, err := jsontree.EventLimits().Parse(text)
		require.NoError(t, err)
		require.Equal(t, json.Number(text), v)
	}
	for _, text := range []string{digits + "7", "-" + digits + "7", "[1, " + digits + "7]"} {
		_, err := jsontree.EventLimits().Parse(text)
		require.EqualError(t, err, "an int has more than 4300 digits")
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	v, err := jsontree.EventLimits().Parse(nested(jsontree.EventLimits().MaxDepth))
	require.NoError(t, err)
	_, err = restjson.Compact(jsontree.Text(jsontree.NewObject(jsontree.Member{Key: "payload", Value: jsontree.List{v}})))
	require.NoError(t, err, "an event with it can be read")
	for _, text := range []string{nested(jsontree.EventLimits().MaxDepth + 1), strings.Repeat(`{"a":`, 1_000_000)} {
		_, err = jsontree.EventLimits().Parse(text)
		require.ErrorContains(t, err, "nested more than 120 levels deep")
	}
}

func TestManyKeys(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i%50_000, i)
	}
	v, err := jsontree.EventLimits().Parse("{" + b.String()[1:] + "}")
	require.NoError(t, err)
	object := v.(*jsontree.Object)
	require.Equal(t, 50_000, object.Len())
	last, ok := object.Get("k7")
	require.True(t, ok)
	require.Equal(t, json.Number("50007"), last)
}

// FuzzParseEvent compares Parse with encoding/json, and what Text writes with the strict decoder of pkg/restjson.
func FuzzParseEvent(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"\ud83d\ude00",null,true,false]}`, "[1,]", `"\u12"`, "\"\xff\"", " 1 ", "01", "[[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsontree.EventLimits().Parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), "levels deep") && !strings.Contains(err.Error(), "digits") {
				require.False(t, json.Valid([]byte(strings.ToValidUTF8(text, "\ufffd"))), "%v", err)
			}
			return
		}
		require.True(t, json.Valid([]byte(text)))
		written := jsontree.Text(v)
		compact, err := restjson.Compact(written)
		require.NoError(t, err)
		require.Equal(t, string(written), string(compact))
		again, err := jsontree.EventLimits().Parse(string(written))
		require.NoError(t, err)
		require.Equal(t, string(written), string(jsontree.Text(again)))
	})
}
