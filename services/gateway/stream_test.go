package gateway_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway"
)

const download = "/api/flow_runs/" + flowID + "/logs/download"

func TestAnswersInParts(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	whole := strings.Repeat("part \n", 1000) + strings.Repeat("part second\n", 1000) + strings.Repeat("part third\n", 1000)
	got := s.do(t, "GET", download, "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "text/csv", got.header.Get("Content-Type"))
	require.Equal(t, whole, got.body)

	got = s.do(t, "GET", download, "", "Accept-Encoding: gzip")
	require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
	z, err := gzip.NewReader(strings.NewReader(got.body))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, whole, string(text))
}

// A beginning is not to be taken for the whole.
func TestAnswersInPartsBreakOff(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	for _, encoding := range []string{"identity", "gzip"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+strings.Replace(download, "0001/", "0002/", 1), nil)
		require.NoError(t, err)
		request.Header.Set("Accept-Encoding", encoding)
		response, err := s.client.Do(request)
		if err == nil { // The head may have come, or nothing.
			_, err = io.ReadAll(response.Body)
			require.NoError(t, response.Body.Close())
		}
		require.Error(t, err, encoding)
	}
	require.Contains(t, s.logs.String(), "failed to complete a streamed response")
}
