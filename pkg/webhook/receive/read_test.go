package receive_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

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
	for _, known := range []bool{true, false} {
		for _, n := range []int{0, 1, receive.Excerpt, receive.Excerpt + 1, limit - 1, limit, limit + 1, 3 * limit} {
			body := bytes.Repeat([]byte("x"), n)
			length := int64(-1)
			if known {
				length = int64(n)
			}
			request, r := post(bytes.NewReader(body), length)
			require.NoError(t, request.ReadBody(r, limit))
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
	err := request.ReadBody(r, limit)
	require.ErrorIs(t, err, receive.ErrBody)
	require.ErrorIs(t, err, broken)
	require.Equal(t, "abc", string(request.Raw))
}

func TestContentLengthTakesNoMemory(t *testing.T) {
	t.Parallel()
	request, r := post(strings.NewReader("abc"), 100<<20)
	require.NoError(t, request.ReadBody(r, 200<<20))
	require.Less(t, cap(request.Raw), 1<<20)
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	read := func(raw []byte) *receive.Request {
		request, r := post(bytes.NewReader(raw), int64(len(raw)), "Content-Encoding", " GZIP", "Content-Type", "application/json")
		require.NoError(t, request.ReadBody(r, limit))
		return request
	}
	require.Equal(t, `{"a": 1}`, read(gzipped(t, []byte(`{"a": 1}`))).Body().Text)
	require.Equal(t, "no gzip", read([]byte("no gzip")).Body().Text)
	require.False(t, read(gzipped(t, bytes.Repeat([]byte("x"), limit))).TooLarge)
	bomb := gzipped(t, make([]byte, 50<<20))
	require.Less(t, len(bomb), limit)
	request := read(bomb)
	require.True(t, request.TooLarge)
	require.LessOrEqual(t, len(request.Raw), limit)
	half := gzipped(t, []byte("some text"))
	half = half[:len(half)-3]
	require.Equal(t, half, read(half).Raw, "a stream that breaks off stays as it is")
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
