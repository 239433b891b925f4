package jsontext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// valid is what the standard library says, which does not look at UTF-8.
func valid(text []byte) bool { return json.Valid(text) && utf8.Valid(text) }

func TestValid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: true, `[]`: true, ` { "a" : [ 1 , -0.5e+7 , true , false , null , "x" ] } `: true,
		``: false, ` `: false, `{`: false, `{"a"`: false, `{"a":`: false, `{"a":1`: false, `{"a":1,}`: false, `{,}`: false,
		`{a:1}`: false, `[1,]`: false, `[1`: false, `[`: false, `[1 2]`: false, `{"a" 1}`: false, `{"a":1 "b":2}`: false,
		`1 2`: false, `01`: false, `-`: false, `1.`: false, `.5`: false, `1e`: false, `1e+`: false, `-0`: true, `0.0e0`: true,
		`tru`: false, `nul`: false, `falsy`: false, `+1`: false, `'a'`: false,
		`"\u12g4"`: false, `"\u12"`: false, `"\x"`: false, `"\`: false, `"a`: false, `"\ud800"`: true, `"\"\\\/\b\f\n\r\t\u00e4"`: true,
		"\"a\nb\"": false, "\"\x7f\"": true, "\"\xff\"": false, "\"12345678\xff\"": false, "\"\xc3\xa4\"": true, "\"\\n\xff\"": false,
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000): true,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001): false,
	} {
		require.Equal(t, want, jsontext.Valid([]byte(text)), "%.40q", text)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x\n\u0041",null,true]}`, "\"\xff\"", `[[[]]]`, `"\ud800"`, ` 1 `, `-01`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		require.Equal(t, valid(text), jsontext.Valid(text))
	})
}

// The scanner counts white space between tokens alone, and goes as deep as it may.
func TestScanner(t *testing.T) {
	t.Parallel()
	text := []byte(` [ {"a b":"c d"}, [] ] `)
	for depth, want := range []bool{false, false, true, true} {
		s := jsontext.Scanner{Text: text, Depth: depth}
		end, ok := s.Value(s.Space(0))
		require.Equal(t, want, ok, "depth %d", depth)
		if want {
			require.Equal(t, len(text)-1, end)
			require.Equal(t, 4, s.Spaces)
		}
	}
}

// What is written reads back as it was, and nothing is escaped that need not be.
func TestAppendString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\\n\x00\x1f\x7fä€")), 0, 40, -1),
		).Draw(t, "s")
		before := []byte("before")
		got := jsontext.AppendString(bytes.Clone(before), s)
		require.True(t, bytes.HasPrefix(got, before))
		got = got[len(before):]
		var back string
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, s, back)
		end, plain, ok := jsontext.String(got, 0)
		require.True(t, ok)
		require.Equal(t, len(got), end)
		require.Equal(t, plain, string(got) == `"`+s+`"`)
	})
}

// The run of a text ends where a search byte by byte says.
func TestRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("abc\x80\xff\x20\x21\x1f\x5b\x5d\x22\x5c"))), 0, 40).Draw(t, "text")
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		want, ascii := from, true
		for ; want < len(text) && text[want] >= 0x20 && text[want] != '"' && text[want] != '\\'; want++ {
			ascii = ascii && text[want] < utf8.RuneSelf
		}
		end, is := jsontext.Run(text, from)
		require.Equal(t, want, end)
		require.Equal(t, ascii, is)
	})
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"occurred":"2026-01-02T03:04:05.678901Z","event":"orch.task-run.Running","resource":{"orch.resource.id":` +
		`"orch.task-run.018f4f2c-0000-7000-8000-000000000001","orch.resource.name":"task-1","orch.run-count":"1"},"related":[],` +
		`"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"n":[1,2.5,true,null]},"id":"018f4f2c-0000-7000-8000-000000000001"}`)
	for name, check := range map[string]func([]byte) bool{"ours": jsontext.Valid, "encoding-json": valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if !check(text) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
