package receive_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

const limit = 200_000

// post makes a request whose body has a known length, or none when it is -1.
func post(body io.Reader, length int64, header ...string) (*receive.Request, *http.Request) {
	r := httptest.NewRequest(http.MethodPost, "/hooks/x", body)
	r.ContentLength = length
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return receive.New(r, "x", "", time.Time{}), r
}

func TestTheLimitIsInclusive(t *testing.T) {
	t.Parallel()
	for _, withLength := range []bool{true, false} {
		for _, n := range []int{0, 1, receive.Excerpt, receive.Excerpt + 1, limit - 1, limit, limit + 1, 3 * limit} {
			body := bytes.Repeat([]byte("x"), n)
			length := int64(-1)
			if withLength {
				length = int64(n)
			}
			request, r := post(bytes.NewReader(body), length)
			require.NoError(t, request.ReadBody(r, limit, nil))
			require.Equal(t, n > limit, request.TooLarge, n)
			if n <= limit {
				require.Equal(t, body, request.Raw, n)
				continue
			}
			require.LessOrEqual(t, len(request.Raw), limit)
			text, cut := request.BodyExcerpt()
			require.True(t, cut)
			require.Len(t, text, receive.Excerpt)
		}
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	request, r := post(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), -1)
	err := request.ReadBody(r, limit, nil)
	require.ErrorIs(t, err, receive.ErrBody)
	require.ErrorIs(t, err, broken)
	require.Equal(t, "abc", string(request.Raw))
}

// A body is read completely, whatever the reader returns at once. One of known length takes no memory beyond it.
func TestBodiesOfAnyReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := bytes.Repeat([]byte("abc"), rapid.IntRange(0, limit/3).Draw(t, "size"))
		wrap := rapid.SampledFrom([]func(io.Reader) io.Reader{
			iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r },
		}).Draw(t, "reader")
		length := rapid.SampledFrom([]int64{-1, 0, 1, int64(len(body)), limit}).Draw(t, "length")
		request, r := post(wrap(bytes.NewReader(body)), length)
		require.NoError(t, request.ReadBody(r, limit, nil))
		require.Equal(t, body, request.Raw)
		if length == int64(len(body)) && length <= 16<<10 {
			require.Equal(t, len(body)+1, cap(request.Raw))
		}
	})
}

func TestContentLengthTakesNoMemory(t *testing.T) {
	t.Parallel()
	request, r := post(strings.NewReader("abc"), 100<<20)
	require.NoError(t, request.ReadBody(r, 200<<20, nil))
	require.Less(t, cap(request.Raw), 1<<20)
}

// encode compresses a body by a coding of Content-Encoding.
func encode(t *testing.T, coding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw deflate":
		w, err = flate.NewWriter(&b, flate.BestCompression)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	}
	require.NoError(t, err)
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"gzip", "x-gzip", "deflate", "raw deflate", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			read := func(raw []byte) (*receive.Request, error) {
				header := " " + strings.ToUpper(strings.TrimPrefix(coding, "raw "))
				request, r := post(bytes.NewReader(raw), int64(len(raw)), "Content-Encoding", header, "Content-Type", "application/json")
				return request, request.ReadBody(r, limit, nil)
			}
			request, err := read(encode(t, coding, []byte(`{"a": 1}`)))
			require.NoError(t, err)
			require.Equal(t, `{"a": 1}`, request.Body().Text)
			request, err = read(encode(t, coding, bytes.Repeat([]byte("x"), limit)))
			require.NoError(t, err)
			require.False(t, request.TooLarge)
			require.Len(t, request.Raw, limit)

			bomb := encode(t, coding, make([]byte, 50<<20))
			require.Less(t, len(bomb), limit)
			request, err = read(bomb)
			require.NoError(t, err)
			require.True(t, request.TooLarge)
			require.LessOrEqual(t, len(request.Raw), receive.Excerpt)

			half := encode(t, coding, []byte("some text that breaks off in the middle"))
			half = half[:len(half)/2]
			request, err = read(half)
			require.ErrorIs(t, err, receive.ErrBody)
			require.Equal(t, half, request.Raw, "the log shows what was sent")
			_, err = read([]byte("\xff not compressed at all"))
			require.ErrorIs(t, err, receive.ErrBody)
		})
	}
}

func TestContentCodings(t *testing.T) {
	t.Parallel()
	text := []byte("text")
	for _, c := range []struct {
		header string
		body   []byte
		err    error
	}{
		{"", text, nil},
		{"identity", text, nil},
		{"gzip, br", encode(t, "br", encode(t, "gzip", text)), nil},
		{"gzip, br", encode(t, "gzip", encode(t, "br", text)), receive.ErrBody},
		{"compress", text, receive.ErrUnsupported},
		{"klingon", text, receive.ErrUnsupported},
		{"gzip,gzip,gzip,gzip", text, receive.ErrUnsupported},
		{"klingon", nil, nil},
	} {
		t.Run(c.header, func(t *testing.T) {
			request, r := post(bytes.NewReader(c.body), int64(len(c.body)), "Content-Encoding", c.header)
			err := request.ReadBody(r, limit, nil)
			require.ErrorIs(t, err, c.err, c.header)
			if c.err == nil && c.body != nil {
				require.Equal(t, "text", request.Body().Text)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, body string
		err               error
	}{
		{"text/plain", "\xff", nil},
		{"text/plain; charset=utf-8", "ü", nil},
		{"text/plain; charset=utf-8", "\xff", receive.ErrBody},
		{"text/plain; charset=latin1", "\xfc", nil},
		{"text/plain; charset=shift_jis", "\x82\xa0", nil},
		{"text/plain; charset=shift_jis", "\x82", receive.ErrBody},
		{"text/plain; charset=utf-16le", "a\x00", nil},
		{"text/plain; charset=klingon", "text", receive.ErrUnsupported},
		{"text/plain; charset=klingon", "", nil},
	} {
		t.Run(c.contentType, func(t *testing.T) {
			request, r := post(strings.NewReader(c.body), int64(len(c.body)), "Content-Type", c.contentType)
			require.ErrorIs(t, request.ReadBody(r, limit, nil), c.err, "%s: %q", c.contentType, c.body)
		})
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "http://hooks.example.com:8080/hooks/x?a=b", nil)
	r.Header = http.Header{
		"X-Github-Event": {"push"}, "X-Many": {"one", "two, three"}, "Authorization": {"Bearer secret"}, "X_Odd.Name": {""},
		"X-Latin": {"gr\xfc\xdfe"}, "X-Utf8": {"grüße"}, "AUTHORIZATION": {"x"},
	}
	r.TransferEncoding = []string{"chunked"}
	request := receive.New(r, "x", "/", time.Time{})
	require.Equal(t, []receive.Field{
		{"host", "hooks.example.com:8080"},
		{"transfer-encoding", "chunked"},
		{"x-github-event", "push"},
		{"x-latin", "grüße"},
		{"x-many", "one, two, three"},
		{"x-utf8", "grüße"},
		{"x_odd.name", ""},
	}, request.Header)
	require.Equal(t, "a=b", request.Query)
	require.Equal(t, "/", request.Path)
	require.Empty(t, request.Get("authorization"))
}
