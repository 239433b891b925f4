package receive_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

// read reads a POST request with a content type and a body.
func read(tb testing.TB, contentType, body string) *receive.Request {
	tb.Helper()
	r := httptest.NewRequest(http.MethodPost, "/hooks/x", strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	request := receive.New(r, "x", "", time.Time{})
	require.NoError(tb, request.ReadBody(r, 1<<20, nil))
	return request
}

func TestTextBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, contentType, body, want string }{
		{"plain", "text/plain", "hello", "hello"},
		{"no type", "", `{"a": 1}`, `{"a": 1}`},
		{"empty", "application/json", "", ""},
		{"byte order mark", "application/json", "\ufeff{}", "{}"},
		{"only a byte order mark", "application/json", "\ufeff", ""},
		{"NUL", "text/plain", "a\x00b", "a\x00b"},
		{"invalid", "text/plain", "a\xffb", "a\ufffdb"},
		{"two invalid bytes", "text/plain", "\xff\xfe", "\ufffd\ufffd"},
		{"cut within a character", "text/plain", "a\xe2\x82", "a\ufffd"},
		{"surrogate as bytes", "text/plain", "\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"windows-1252", "text/plain; charset=windows-1252", "\x80 \xfc", "€ ü"},
		{"latin-1", "text/plain; charset=latin-1", "\xfc", "ü"},
		{"iso-8859-1, quoted, odd case", `Application/JSON;x=y; CharSet="ISO-8859-1"`, "\"\xfc\"", `"ü"`},
		{"utf-16 little endian", "text/plain; charset=utf-16le", "a\x00\xfc\x00", "aü"},
		{"utf-16 with mark", "text/plain; charset=utf-16", "\xfe\xff\x00a\x00\xfc", "aü"},
		{"utf-16 big endian", "text/plain; charset=utf-16be", "\x00a\x00\xfc", "aü"},
		{"shift_jis", "text/plain; charset=shift_jis", "\x82\xa0", "あ"},
		{"a mark wins over the charset", "text/plain; charset=latin1", "\ufeffü", "ü"},
		{"malformed parameters", "text/plain; ;charset", "ü", "ü"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := read(t, c.contentType, c.body).Body()
			require.False(t, got.Form, c.name)
			require.Equal(t, c.want, got.Text, c.name)
		})
	}
}

// pairs are the entries of a form, of names and values.
func pairs(texts ...string) (all []receive.Pair) {
	for i := 0; i < len(texts); i += 2 {
		all = append(all, receive.Pair{Key: texts[i], Value: texts[i+1]})
	}
	return all
}

func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want []receive.Pair
	}{
		{"", nil},
		{"a=1&b=2", pairs("a", "1", "b", "2")},
		{"a=1&b=2&a=3", pairs("a", "3", "b", "2")},
		{"a=&b", pairs("a", "", "b", "")},
		{"=x&&&c=d=e", pairs("", "x", "c", "d=e")},
		{"a=b+c&d+e=%2B", pairs("a", "b c", "d e", "+")},
		{"a=%zz&b=%&c=%4&d=100%25%", pairs("a", "%zz", "b", "%", "c", "%4", "d", "100%%")},
		{"a=1;b=2", pairs("a", "1;b=2")},
		{"user[name]=x&user%5Bname%5D=y", pairs("user[name]", "y")},
		{"a=%C3%BC&b=ü&c=%ff", pairs("a", "ü", "b", "ü", "c", "\ufffd")},
		{"a=%00", pairs("a", "\x00")},
		{`payload=%7B%22a%22%3A1%7D`, pairs("payload", `{"a":1}`)},
	} {
		t.Run(c.body, func(t *testing.T) {
			got := read(t, "Application/X-WWW-Form-Urlencoded; charset=utf-8", c.body).Body()
			require.True(t, got.Form)
			require.Equal(t, c.want, got.Pairs, c.body)
			require.Empty(t, got.Text)
			require.Equal(t, c.want, receive.ParseQuery(c.body), c.body)
		})
	}
	got := read(t, "application/x-www-form-urlencoded; charset=windows-1252", "a=%80&b=\x80").Body()
	require.Equal(t, pairs("a", "€", "b", "€"), got.Pairs)
	got = read(t, "application/x-www-form-urlencoded; charset=utf-16le", "a\x00=\x00%\x002\x006\x00").Body()
	require.Equal(t, pairs("a", "&"), got.Pairs)
}

func FuzzForm(f *testing.F) {
	for _, seed := range []string{"a=1&b=2", "%zz=%&;=+", "a=%C3%BC&&=", "\xff=%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		keys := map[string]bool{}
		for _, p := range receive.ParseQuery(body) {
			require.False(t, keys[p.Key], "each key once")
			keys[p.Key] = true
			require.Equal(t, strings.ToValidUTF8(p.Value, ""), p.Value)
		}
		require.LessOrEqual(t, len(keys), strings.Count(body, "&")+1)
	})
}

func FuzzBody(f *testing.F) {
	for _, contentType := range []string{
		"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain; charset=utf-16", "x; charset=gbk", "text/plain; charset=iso-2022-jp", "",
	} {
		f.Add(contentType, `{"a": "\ud83d"}`)
		f.Add(contentType, "\xff\xfea\x00")
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		r := &receive.Request{Method: "POST", Header: []receive.Field{{Name: "content-type", Value: contentType}}, Raw: []byte(body)}
		got := r.Body()
		require.Equal(t, strings.ToValidUTF8(got.Text, ""), got.Text)
		require.LessOrEqual(t, len(got.Text), 4*len(body)+8, "no decoder blows a body up")
		text, cut := r.BodyExcerpt()
		require.False(t, cut)
		require.Equal(t, strings.ToValidUTF8(text, ""), text)
	})
}
