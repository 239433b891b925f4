package jsontoken_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// anys builds the values that encoding/json builds.
type anys struct {
	stack []any
	keys  []string
}

func (a *anys) Null()         { a.stack = append(a.stack, nil) }
func (a *anys) Bool(b bool)   { a.stack = append(a.stack, b) }
func (a *anys) Text(s string) { a.stack = append(a.stack, s) }
func (a *anys) Key(s string)  { a.keys = append(a.keys, s) }

var errNumber = errors.New("an unwanted number")

func (a *anys) Number(literal string) error {
	a.stack = append(a.stack, json.Number(literal))
	if literal == "-13" {
		return errNumber
	}
	return nil
}

func (a *anys) Array(n int) {
	at := len(a.stack) - n
	list := append([]any{}, a.stack[at:]...)
	a.stack = append(a.stack[:at], list)
}

func (a *anys) Object(n int) {
	at, first := len(a.stack)-n, len(a.keys)-n
	object := map[string]any{}
	for i := range n {
		object[a.keys[first+i]] = a.stack[at+i]
	}
	a.keys = a.keys[:first]
	a.stack = append(a.stack[:at], object)
}

const depth = 50

func scan(text string) (any, error) {
	var a anys
	if err := jsontoken.Scan(text, jsontoken.Limits{Depth: depth}, &a); err != nil {
		return nil, err
	}
	return a.stack[0], nil
}

// readAll takes a value token by token.
func readAll(l *jsontoken.Lexer) {
	switch l.Peek() {
	case '{':
		l.Members(func([]byte) { readAll(l) })
	case '[':
		l.Items(func(int) { readAll(l) })
	case '"':
		l.Text()
	case 't':
		l.Literal("true")
	case 'f':
		l.Literal("false")
	case 'n':
		l.Literal("null")
	default:
		l.Number()
	}
}

// FuzzScan compares Scan with encoding/json, and with reading token by token and skipping.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, -0.5e+3, true, false, null, "x"], "a": {}}`, `"\ud83d\ude00\ud800\ud800\u0041\u00e9\/\b\f\n\r\t\"\\"`, `01`, `-`, `1.`, `1e`,
		` [ ] `, `[1,]`, `{"a":1,}`, `{"a"}`, `"\u12"`, `"\uD8zz"`, "\"\x01\"", "nul", "truex", "[1]2", "\ufeff1", `{"":{"":[]}}`, "\x00", `"\ud800\`,
		`"\u@@@@"`, `"\u+123"`, "", "{", `{"a" 1}`, `{"b":1 "c":2}`, strings.Repeat("[", depth) + strings.Repeat("]", depth),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "-13") || strings.Count(text, "[")+strings.Count(text, "{") >= depth {
			return
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var want any
		err := dec.Decode(&want)
		if err == nil {
			if _, rest := dec.Token(); !errors.Is(rest, io.EOF) {
				err = errors.New("text after the value")
			}
		}
		got, ours := scan(text)
		skipped := jsontoken.Lexer{Data: []byte(text), MaxDepth: depth}
		skipped.Skip()
		skipped.End()
		read := jsontoken.Lexer{Data: []byte(text), MaxDepth: depth}
		readAll(&read)
		read.End()
		require.Equal(t, read.Reason, skipped.Reason, "%q: reading tokens and skipping find the same error", text)
		require.Equal(t, read.At, skipped.At, "%q: at the same place", text)
		require.Equal(t, read.LoneSurrogate, skipped.LoneSurrogate)
		require.Equal(t, ours == nil, skipped.Reason == "")
		require.Equal(t, err == nil, ours == nil, "%q: %v; %v", text, err, ours)
		if err == nil {
			require.Equal(t, want, got, "%q", text)
		}
	})
}

func TestScanEnds(t *testing.T) {
	t.Parallel()
	_, err := scan(strings.Repeat("[", depth+1) + "1")
	var at *jsontoken.SyntaxError
	require.ErrorAs(t, err, &at)
	require.Equal(t, "nested more than 50 levels deep", at.Message)
	require.Equal(t, depth+1, at.Column)
	_, err = scan("[1,\n2,\n é]")
	require.EqualError(t, err, "line 3, column 2: a value is expected")
	_, err = scan("[1, -13, 2]")
	require.Equal(t, errNumber, err)
}
