package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func get(a http.Handler, method string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/static/x", nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestAssetsAreSentOnceAndSmall(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("body { color: teal }\n", 100))
	a, err := newAsset("text/css", text)
	require.NoError(t, err)

	plain := get(a, http.MethodGet)
	require.Equal(t, http.StatusOK, plain.Code)
	require.Equal(t, text, plain.Body.Bytes())
	require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
	tag := plain.Header().Get("ETag")

	small := get(a, http.MethodGet, "Accept-Encoding: gzip")
	require.Equal(t, "gzip", small.Header().Get("Content-Encoding"))
	require.Less(t, small.Body.Len(), len(text)/5)
	z, err := gzip.NewReader(small.Body)
	require.NoError(t, err)
	unzipped, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, text, unzipped)

	for _, condition := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		again := get(a, http.MethodGet, "If-None-Match: "+condition)
		require.Equal(t, http.StatusNotModified, again.Code, condition)
		require.Empty(t, again.Body.Bytes())
		require.Equal(t, tag, again.Header().Get("ETag"))
	}
	require.Equal(t, http.StatusOK, get(a, http.MethodGet, `If-None-Match: "other"`).Code)

	refused := get(a, http.MethodPost)
	require.Equal(t, http.StatusMethodNotAllowed, refused.Code)
	require.Equal(t, "GET, HEAD", refused.Header().Get("Allow"))

	other, err := newAsset("text/css", append(bytes.Clone(text), '\n'))
	require.NoError(t, err)
	require.NotEqual(t, tag, get(other, http.MethodGet).Header().Get("ETag"))
}

// Files that compression does not make smaller are sent as they are, to clients that accept compression too.
func TestWhatDoesNotShrinkIsSentAsItIs(t *testing.T) {
	t.Parallel()
	a, err := newAsset("image/svg+xml", []byte("<svg/>"))
	require.NoError(t, err)
	got := get(a, http.MethodGet, "Accept-Encoding: gzip")
	require.Empty(t, got.Header().Get("Content-Encoding"))
	require.Equal(t, "<svg/>", got.Body.String())
}

// A machine's own table of types must not make a script a download.
func TestTypesOfWhatPagesLoad(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/index.html": "text/html; charset=utf-8", "orch.css": "text/css; charset=utf-8",
		"request.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml", "what": "application/octet-stream",
	} {
		require.Equal(t, want, typeOf(name))
	}
}
