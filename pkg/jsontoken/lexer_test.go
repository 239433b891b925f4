package jsontoken_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontoken"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// valid compares with encoding/json, which does not check UTF-8.
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
		require.Equal(t, want, jsontoken.Valid([]byte(text)), "%.40q", text)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x\n\u0041",null,true]}`, "\"\xff\"", `[[[]]]`, `"\ud800"`, ` 1 `, `-01`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		require.Equal(t, valid(text), jsontoken.Valid(text))
	})
}

// TestSkip: skipping counts white space between tokens, respects MaxDepth, and reports lone surrogates.
func TestSkip(t *testing.T) {
	t.Parallel()
	text := []byte(` [ {"a b":"c d"}, [] ] `)
	for depth, want := range []bool{false, false, true, true} {
		l := jsontoken.Lexer{Data: text, MaxDepth: depth}
		l.Skip()
		require.Equal(t, want, !l.Stopped(), "depth %d", depth)
		if want {
			require.Equal(t, len(text)-1, l.Pos)
			require.Equal(t, 4, l.Spaces)
			require.Zero(t, l.Depth)
			require.False(t, l.LoneSurrogate)
		}
	}
	for text, lone := range map[string]bool{
		`"\ud83d\ude00"`: false, `"\\ud83d"`: false, `"\ud83d"`: true, `{"\ude00":1}`: true, `["\ud83d\ud83d\ude00"]`: true, `"\ud83d\u0041"`: true,
	} {
		l := jsontoken.Lexer{Data: []byte(text), MaxDepth: 1}
		l.Skip()
		require.False(t, l.Stopped(), text)
		require.Equal(t, lone, l.LoneSurrogate, text)
	}
}

// TestMembersAndItems: the callbacks see every member and item in order, and nothing after a syntax error.
func TestMembersAndItems(t *testing.T) {
	t.Parallel()
	read := func(text string) (seen []string, reason string) {
		l := jsontoken.Lexer{Data: []byte(text), MaxDepth: 9}
		l.Space()
		l.Members(func(key []byte) {
			seen = append(seen, string(key))
			if l.Peek() == '[' {
				l.Items(func(i int) { seen = append(seen, fmt.Sprintf("%d %s", i, l.Raw())) })
				return
			}
			seen = append(seen, string(l.Text()))
		})
		l.End()
		return seen, l.Reason
	}
	seen, reason := read(` { "a" : [ 1 , { } ] , "b\n" : "\u0063" , "d" : [] } `)
	require.Equal(t, []string{"a", "0 1", "1 { }", "b\n", "c", "d"}, seen)
	require.Empty(t, reason)
	seen, reason = read(`{"a":[1],"b" "c"}`)
	require.Equal(t, []string{"a", "0 1"}, seen)
	require.Equal(t, "a colon is expected after the key", reason)
}

// TestAppendString: a written string reads back unchanged.
func TestAppendString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\\n\x00\x1f\x7fä€")), 0, 40, -1),
		).Draw(t, "s")
		before := []byte("before")
		got := jsontoken.AppendString(bytes.Clone(before), s)
		require.True(t, bytes.HasPrefix(got, before))
		got = got[len(before):]
		var back string
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, s, back)
		l := jsontoken.Lexer{Data: got}
		require.Equal(t, s, string(l.Text()))
		require.Equal(t, len(got), l.Pos)
	})
}

// TestPlainEnd compares the word-wise search with a search byte by byte.
func TestPlainEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("abc\x80\xff\x20\x21\x1f\x5b\x5d\x22\x5c"))), 0, 40).Draw(t, "text")
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		want, ascii := from, true
		for ; want < len(text) && text[want] >= 0x20 && text[want] != '"' && text[want] != '\\'; want++ {
			ascii = ascii && text[want] < utf8.RuneSelf
		}
		end, is := jsontoken.PlainEnd(text, from)
		require.Equal(t, want, end)
		require.Equal(t, ascii, is)
	})
}

const event = `{"occurred":"2026-01-02T03:04:05.678901Z","event":"orch.task-run.Running","resource":{"orch.resource.id":` +
	`"orch.task-run.018f4f2c-0000-7000-8000-000000000001","orch.resource.name":"task-1","orch.run-count":"1"},"related":[],` +
	`"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"n":[1,2.5,true,null]},"id":"018f4f2c-0000-7000-8000-000000000001"}`

func BenchmarkValid(b *testing.B) {
	text := []byte(event)
	for name, check := range map[string]func([]byte) bool{"ours": jsontoken.Valid, "encoding-json": valid} {
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

func BenchmarkScan(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		if err := jsontoken.Scan(event, jsontoken.Limits{Depth: depth}, counter{}); err != nil {
			b.Fatal(err)
		}
	}
}

// counter throws away what it gets.
type counter struct{}

func (counter) Null()               {}
func (counter) Bool(bool)           {}
func (counter) Number(string) error { return nil }
func (counter) Text(string)         {}
func (counter) Key(string)          {}
func (counter) Array(int)           {}
func (counter) Object(int)          {}
